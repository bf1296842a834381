"""Notices: how they arrive, who in the rank is told, and how, and what must not start after them."""
