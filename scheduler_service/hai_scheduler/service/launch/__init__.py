"""Effects on the cluster after a commit: runs are launched, notified and ended."""
