"""Environments as they lie on disk: names, folders, manifests, locks, references. Nothing is executed to read them."""
