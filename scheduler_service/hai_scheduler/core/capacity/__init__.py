"""The GPUs: free, held, promised and reserved ones, and which runs are suspended for which tasks."""
