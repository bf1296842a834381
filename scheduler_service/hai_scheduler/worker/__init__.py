"""The process beside the service that computes what would hold it up, and the pool that starts it."""
