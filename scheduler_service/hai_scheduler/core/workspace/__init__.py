"""What a task finds around it by rules: environments and mounts, and for whom they hold."""
