"""Who goes first, who may hold how much, and how long a turn lasts."""
