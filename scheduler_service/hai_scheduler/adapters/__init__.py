"""The world behind the ports. Adapters do not know each other."""
