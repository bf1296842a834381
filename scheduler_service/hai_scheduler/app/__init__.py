"""Settings and the composition root: opens the adapters and builds the use cases on them."""
