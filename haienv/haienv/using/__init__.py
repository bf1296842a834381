"""What makes a process use an environment."""
