"""What the service needs of the world. One contract suite a port runs against every adapter (tests/contract)."""
