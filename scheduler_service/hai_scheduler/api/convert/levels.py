"""Converts levels of priority into their names on the wire, and back."""

from __future__ import annotations

from hai_scheduler.api.wire.base import PriorityChoice, PriorityName
from hai_scheduler.core.model.priority import Priority


def level_name(level: Priority) -> PriorityName:
    """Return the wire's name of a level."""
    name: PriorityName = level.name  # type: ignore[assignment]  # a test compares the two lists
    return name


def choice_of(level: Priority | None) -> PriorityChoice:
    """Return the wire's name of the priority that was asked for; None is AUTO."""
    return "AUTO" if level is None else level_name(level)


def level_of(choice: PriorityChoice) -> Priority | None:
    """Return the level that a name asks for; None for AUTO."""
    return None if choice == "AUTO" else Priority[choice]
