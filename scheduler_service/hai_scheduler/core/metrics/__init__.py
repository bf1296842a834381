"""What runs used: series of metrics, folded to coarser steps and packed for the store."""
