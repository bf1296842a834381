"""What several adapters do in the same way."""
