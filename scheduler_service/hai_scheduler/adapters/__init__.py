"""Implementations of the ports. Adapters do not know each other."""
