"""Subjects: the users for whom a rule holds, as `user:NAME`, `group:NAME` or `public`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hai_scheduler.core.model.limits import HIDDEN
from hai_scheduler.core.workspace.templates import Wrong

PUBLIC: Final = "public"
_USER, _GROUP = "user:", "group:"


def check_subject(field: str, subject: str) -> None:
    """Raise Wrong, which names the field, unless the text is a subject."""
    _, _, name = subject.partition(":")
    known = subject == PUBLIC or (subject.startswith((_USER, _GROUP)) and name)
    if not known or HIDDEN.search(subject):
        raise Wrong(field, subject, f"{subject[:80]!r} is not a subject: write user:NAME, group:NAME or public")


def speaks_of(subject: str, user: str, groups: Collection[str]) -> bool:
    """Whether the subject includes the user."""
    return subject == PUBLIC or subject == _USER + user or (group_of(subject) in groups)


def group_of(subject: str) -> str | None:
    """Return the name of the group if the subject is a group, else None."""
    return subject.removeprefix(_GROUP) if subject.startswith(_GROUP) else None


def precedence(subject: str) -> int:
    """Return the precedence of a subject, smaller first: 0 for a user, 1 for a group, 2 for `public`."""
    return 0 if subject.startswith(_USER) else 1 if subject.startswith(_GROUP) else 2
