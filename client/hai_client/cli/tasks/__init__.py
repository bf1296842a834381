"""The verbs about tasks: how they stand, why, what they print, and what becomes of them."""
