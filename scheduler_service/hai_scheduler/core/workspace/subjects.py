"""Whom a rule is for: `user:NAME`, `group:NAME` or `public`."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from hai_scheduler.core.workspace.templates import Wrong

PUBLIC: Final = "public"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_USER, _GROUP = "user:", "group:"


def check_subject(field: str, subject: str) -> None:
    """Raises Wrong."""
    _, _, name = subject.partition(":")
    known = subject == PUBLIC or (subject.startswith((_USER, _GROUP)) and name)
    if not known or _CONTROL.search(subject):
        raise Wrong(field, subject, f"{subject[:80]!r} is not a subject: write user:NAME, group:NAME or public")


def speaks_of(subject: str, user: str, groups: Collection[str]) -> bool:
    """Whether the user is meant."""
    return subject == PUBLIC or subject == _USER + user or (group_of(subject) in groups)


def group_of(subject: str) -> str | None:
    """The group, if it is one."""
    return subject.removeprefix(_GROUP) if subject.startswith(_GROUP) else None


def rank(subject: str) -> int:
    """Whose word counts more: 0 a user's own, 1 that of a group, 2 that for everybody."""
    return 0 if subject.startswith(_USER) else 1 if subject.startswith(_GROUP) else 2
