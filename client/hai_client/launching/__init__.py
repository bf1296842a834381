"""Starts a command several times on a node, with the variables that say who is there: `--ranks-per-node`."""
