"""The log of a task: stored, read as one story, followed, searched, and what its end says."""
