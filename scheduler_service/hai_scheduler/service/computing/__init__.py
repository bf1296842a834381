"""Computations outside of the service's own process: orders as JSON, for users in turn."""
