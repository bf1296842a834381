"""What tasks and development containers find around them: environments, mounts, variables."""
