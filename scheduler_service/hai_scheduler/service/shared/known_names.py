"""Checks of names in requests: node groups, users and their groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.latest_plan import LatestPlan


def check_group(latest_plan: LatestPlan, group: str) -> None:
    """Raise Invalid for an unknown node group; while no node is known, every name passes."""
    groups = latest_plan.groups()
    if groups and group not in groups:
        raise unknown_group(group, groups)


def unknown_group(group: str, known: Iterable[str], *, further: str = "") -> Invalid:
    """Return the error for an unknown node group, with the names of the known ones and a further remedy."""
    choice = ", ".join(sorted(known)) + further
    return Invalid("group", group, f"there is no node group {group!r}: choose one of {choice}")


def stranger(subject: str, users: Iterable[UserRecord]) -> str | None:
    """A warning if the subject names a user or a user group that HAI has never seen; else None."""
    kind, _, name = subject.partition(":")
    seen = list(users)
    known: Collection[str] = {user.name for user in seen} if kind == "user" else {g for u in seen for g in u.groups}
    if not name or name in known:
        return None
    what = "a user" if kind == "user" else "a user of the group"
    return f"HAI has never seen {what} {name!r}: check the spelling, or ignore this if the name is new"
