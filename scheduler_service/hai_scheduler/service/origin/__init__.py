"""Tells this database's runs on the cluster from orphaned runs, and handles the latter (decision 0016)."""
