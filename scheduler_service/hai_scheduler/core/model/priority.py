"""Levels of priority."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

#: The names of the levels, and what a task may ask for.
PriorityName = Literal["LOW", "BELOW_NORMAL", "NORMAL", "ABOVE_NORMAL", "HIGH", "VERY_HIGH", "EXTREME_HIGH"]
PriorityChoice = Literal["AUTO", "LOW", "BELOW_NORMAL", "NORMAL", "ABOVE_NORMAL", "HIGH", "VERY_HIGH", "EXTREME_HIGH"]


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


def level_name(level: Priority) -> PriorityName:
    """Return the name of a level."""
    name: PriorityName = level.name  # type: ignore[assignment]  # a test compares the two lists
    return name


def choice_of(level: Priority | None) -> PriorityChoice:
    """Return the name of the priority that was asked for; None is AUTO."""
    return "AUTO" if level is None else level_name(level)


def level_of(choice: PriorityChoice) -> Priority | None:
    """Return the level that a name asks for; None for AUTO."""
    return None if choice == "AUTO" else Priority[choice]
