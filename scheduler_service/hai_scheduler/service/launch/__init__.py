"""Effects on the cluster after a commit: runs are launched and ended."""
