"""What is computed outside of the service's own process: orders as JSON, carried out for users in turn."""
