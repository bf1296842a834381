"""Settings and the composition root: it opens the adapters and puts the use cases around them."""
