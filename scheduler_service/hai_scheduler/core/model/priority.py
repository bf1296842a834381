"""Levels of priority."""

from __future__ import annotations

from enum import IntEnum


class Priority(IntEnum):
    """Priority levels; higher goes first (O1). AUTO (Q4) is written as None where a task asks for a level."""

    LOW = 0
    BELOW_NORMAL = 5
    NORMAL = 10
    ABOVE_NORMAL = 20
    HIGH = 30
    VERY_HIGH = 40
    EXTREME_HIGH = 50

    def __bool__(self) -> bool:
        """LOW is a level as well, so that `level or other` is the other one where there is none."""
        return True
