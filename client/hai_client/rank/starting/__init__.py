"""How a rank starts: what it is told of itself, its lock, the moment at which all are there, its command."""
