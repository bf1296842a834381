"""Which runs on the cluster belong to this database, and what becomes of the others (decision 0016)."""
