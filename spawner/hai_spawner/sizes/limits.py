"""Limit how many servers a user and a group may have at once, by size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hai_spawner.sizes.allocations import Allocation
from hai_spawner.sizes.catalogue import Person

#: Stands for servers of all sizes together.
ANY: Final = "*"
_FIELDS: Final = ("user", "users", "group", "groups")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Most servers of one size, or of all sizes together."""

    user: int | None = None  #: Most servers of one user; None: no limit.
    users: Mapping[str, int] = field(default_factory=dict)  #: Limits for users by name, used instead of `user`.
    group: int | None = None  #: Most servers of all members of one group together; None: no limit.
    groups: Mapping[str, int] = field(default_factory=dict)  #: Limits for groups by name, used instead of `group`.


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A limit that applies to a person, with its use."""

    whose: str  #: `you`, or `group ml`.
    what: str  #: Name of the size, or `*`.
    used: int  #: Number of servers now.
    limit: int  #: Most servers allowed.

    @property
    def left(self) -> int:
        """The number of further servers that are allowed."""
        return max(0, self.limit - self.used)

    @property
    def sentence(self) -> str:
        """The share as a sentence: `Group ml has 4 of 4 servers of size gpu-1.`."""
        text = str(self)
        return f"{text[0].upper()}{text[1:]}."

    def __str__(self) -> str:
        """Return the share in words, for example `group ml has 4 of 4 servers of size gpu-1`."""
        of = "" if self.what == ANY else f" of size {self.what}"
        verb = "have" if self.whose == "you" else "has"
        return f"{self.whose} {verb} {self.used} of {self.limit} servers{of}"


Limits = Mapping[str, Limit]


def parse_limits(table: Mapping[str, Any], sizes: Collection[str], *, setting: str = "limits") -> dict[str, Limit]:
    """Return the limits of a configuration, by name of the size or `*`.

    Args:
        table: A table for each size, and for `*`.
        sizes: Names of the configured sizes.
        setting: Name of the setting for error messages.

    Raises:
        ValueError: A field is wrong; the message names the field, its value and the remedy.
    """
    return {name: _limit(f"{setting}[{name!r}]", name, given, sizes) for name, given in table.items()}


def _limit(where: str, name: str, given: object, sizes: Collection[str]) -> Limit:
    if name != ANY and name not in sizes:
        known = ", ".join(["*", *sizes])
        raise ValueError(f"{where}: there is no size {name!r}; use one of {known}")
    if not isinstance(given, Mapping):
        raise ValueError(f"{where} is {given!r}: describe it by a table such as {{'user': 1, 'group': 4}}")
    for unknown in sorted(map(str, set(given) - set(_FIELDS))):
        message = f"{where}.{unknown} is {given.get(unknown)!r}: there is no such field; use {', '.join(_FIELDS)}"
        raise ValueError(message)
    return Limit(
        user=_count(f"{where}.user", given.get("user")),
        users=_counts(f"{where}.users", given.get("users")),
        group=_count(f"{where}.group", given.get("group")),
        groups=_counts(f"{where}.groups", given.get("groups")),
    )


def _count(where: str, value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError(f"{where} is {value!r}: give a whole number from 0, or leave it out for no limit")


def _counts(where: str, value: object) -> dict[str, int]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is {value!r}: give a table of names and numbers, such as {{'ml': 8}}")
    counts = {str(name): _count(f"{where}[{name!r}]", count) for name, count in value.items()}
    return {name: count for name, count in counts.items() if count is not None}


def shares(person: Person, size: str, limits: Limits, grants: Iterable[Allocation]) -> tuple[Share, ...]:
    """Return every limit that applies to a person who wants a server of a size; a server may start if all have room.

    Args:
        person: The user who asks.
        size: Name of the wanted size.
        limits: The configured limits.
        grants: All servers, with those of other users.
    """
    found: list[Share] = []
    known = tuple(grants)
    for what in (size, ANY):
        limit = limits.get(what)
        if limit is None:
            continue
        counted = [grant for grant in known if what in (ANY, grant.size)]
        own = limit.users.get(person.name, limit.user)
        if own is not None:
            used = sum(grant.user == person.name for grant in counted)
            found.append(Share(whose="you", what=what, used=used, limit=own))
        for group in sorted(person.groups):
            most = limit.groups.get(group, limit.group)
            if most is not None:
                used = sum(group in grant.groups for grant in counted)
                found.append(Share(whose=f"group {group}", what=what, used=used, limit=most))
    return tuple(found)
