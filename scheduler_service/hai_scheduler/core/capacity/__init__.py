"""Whose the GPUs are: free, held, promised and reserved, and which turns end for whom."""
