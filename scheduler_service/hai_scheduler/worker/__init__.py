"""The worker process, which computes what would delay the service, and the pool that starts it."""
