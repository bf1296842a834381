"""The environments, mounts and variables of tasks and development containers."""
