"""Bytes as people write them."""

from __future__ import annotations


def amount(size: int) -> str:
    """Return bytes as people write them: `14 kB`, `41 GB`."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.0f} {unit}" if value >= 9.95 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
