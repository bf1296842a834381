"""Levels of priority and their names on the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.base import PriorityChoice, PriorityName
from hai_scheduler.core.model.priority import Priority


def level_name(level: Priority) -> PriorityName:
    """The wire's name of a level."""
    name: PriorityName = level.name  # type: ignore[assignment]  # a test compares the two lists
    return name


def choice_of(level: Priority | None) -> PriorityChoice:
    """The wire's name of what was asked for."""
    return "AUTO" if level is None else level_name(level)


def level_of(choice: PriorityChoice) -> Priority | None:
    """What the name asks for; None is AUTO."""
    return None if choice == "AUTO" else Priority[choice]
