"""Converts the number of a rank in a path."""

from __future__ import annotations

from hai_scheduler.service.shared.errors import Invalid


def rank_of(text: str) -> int:
    """Return the number of a rank. Raises Invalid."""
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise Invalid("rank", text, "is not the number of a rank")
    return int(text)
