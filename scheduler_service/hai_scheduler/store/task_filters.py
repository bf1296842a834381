"""Which tasks a list has, and their order, as SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Text, and_, false, func, or_, select, true

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.ports.values import TaskFilter, TaskKey
from hai_scheduler.store.codec import to_instant
from hai_scheduler.store.label_tables import STARS, TASK_TAGS
from hai_scheduler.store.tables import TASKS


def conditions_of(where: TaskFilter) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter, all of which hold."""
    return [*_of_task(where), *_of_labels(where), *_of_times(where)]


def _of_task(where: TaskFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if where.user is not None:
        conditions.append(TASKS.c.user_name == where.user)
    if where.states is not None:
        conditions.append(TASKS.c.state.in_([state.value for state in where.states]))
        if not any(state.ended for state in where.states):
            # Lets the index of unfinished tasks be used, instead of a walk through all history.
            conditions.append(TASKS.c.ended == false())
    if where.group is not None:
        conditions.append(TASKS.c.group_name == where.group)
    if where.priority is not None:
        conditions.append(_at_level(where.priority.upper()))
    if where.name is not None:
        conditions.append(func.lower(TASKS.c.name).contains(where.name.lower(), autoescape=True))
    return conditions


def _at_level(name: str) -> ColumnElement[bool]:
    """Return the condition for tasks that ask for a level by name, or for `AUTO`; an unknown name fits no task."""
    if name == "AUTO":
        return TASKS.c.priority.is_(None)
    return TASKS.c.priority.in_([level.value for level in Priority if level.name == name])


def _of_labels(where: TaskFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if where.text is not None:
        conditions.append(_has_text(where.text))
    if where.tag is not None:
        conditions.append(TASKS.c.id.in_(select(TASK_TAGS.c.task_id).where(TASK_TAGS.c.tag == where.tag)))
    if where.starred_by is not None:
        conditions.append(TASKS.c.id.in_(select(STARS.c.task_id).where(STARS.c.user_name == where.starred_by)))
    return conditions


def _has_text(text: str) -> ColumnElement[bool]:
    """Return the condition for tasks with a text in their name, their user's name or a tag, or as their number."""
    wanted = text.lower()
    tagged = select(TASK_TAGS.c.task_id).where(func.lower(TASK_TAGS.c.tag).contains(wanted, autoescape=True))
    parts = [
        func.lower(TASKS.c.name).contains(wanted, autoescape=True),
        func.lower(TASKS.c.user_name).contains(wanted, autoescape=True),
        TASKS.c.id.in_(tagged),
    ]
    if text.isascii() and text.isdigit() and len(text) <= 18:
        parts.append(TASKS.c.id == int(text))
    return or_(*parts)


def _of_times(where: TaskFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if where.submitted_since is not None:
        conditions.append(TASKS.c.submitted_at >= to_instant(where.submitted_since))
    if where.ended_since is not None:
        conditions.append(and_(TASKS.c.ended == true(), TASKS.c.ended_at >= to_instant(where.ended_since)))
    return conditions


def key_of(key: TaskKey, dialect: str) -> ColumnElement[Any]:
    """Return what tasks are ordered by; texts by the numbers of their characters, whatever the database's language."""
    column = _KEYS[key]
    return column.collate("C") if dialect == "postgresql" and isinstance(column.type, Text) else column


_KEYS: Final[Mapping[TaskKey, ColumnElement[Any]]] = {
    TaskKey.ID: TASKS.c.id,
    TaskKey.NAME: TASKS.c.name,
    TaskKey.USER: TASKS.c.user_name,
    TaskKey.GROUP: TASKS.c.group_name,
    TaskKey.STATE: TASKS.c.state,
    TaskKey.PRIORITY: func.coalesce(TASKS.c.priority, -1),
    TaskKey.NODES: TASKS.c.nodes,
    TaskKey.ENDED: func.coalesce(TASKS.c.ended_at, 0),
    TaskKey.RAN: TASKS.c.served,
}
