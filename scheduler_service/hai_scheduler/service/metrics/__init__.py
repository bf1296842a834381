"""Metrics of ranks: taken from their supervisors, and read by task."""
