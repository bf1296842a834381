"""What is done to the cluster after a commit: runs are launched, told and ended."""
