"""The loop: it reads the cluster, plans, writes what follows, and forgets what is old."""
