"""The REST calls of `Client`, in groups that know nothing of each other."""
