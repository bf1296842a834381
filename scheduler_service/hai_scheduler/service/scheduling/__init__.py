"""The loop: reads the cluster, plans, writes the decisions, and deletes what is old."""
