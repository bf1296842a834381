"""The proxy inside the Hub's process."""
