r"""Which groups of a provider are groups of the Hub: a table of patterns, by which everything else is dropped.

Example: `{"match": "CN=gpu-(.+),OU=Teams,.*", "group": "\\1"}` makes a member of the directory's group
`CN=gpu-vision,OU=Teams,DC=example,DC=org` one of the Hub's group `vision`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hai_hub.logins.plain_names import refusal_of

#: Groups that a user can have, and characters of one name: longer ones are dropped.
MOST: Final = 50
#: Groups of one user that are looked at: each costs the Hub's one process a moment, and is looked at again and again.
MOST_READ: Final = 5000
LONGEST: Final = 255
#: What a group of the Hub may be called: its name is a part of paths (`groups/NAME`), of quota rows and of commands.
_NAME: Final = re.compile(r"[^\W_][\w.@+-]{0,126}")
#: A part of a name that comes from the pattern: `\1`, `\g<1>` or `\g<team>`.
_PART: Final = re.compile(r"\\(?:(\d)|g<(\w+)>)")


class WrongTable(ValueError):
    """A row of the table is wrong; the text names field, value and remedy."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a table makes of the groups that a provider names."""

    groups: tuple[str, ...]  #: Groups of the Hub, in the order of the table's rows.
    dropped: tuple[str, ...]  #: Groups of the provider that match no row, or become no name of a group.
    too_many: int = 0  #: How many groups were left out because there are `MOST` already.
    unread: int = 0  #: How many were not looked at.

    def sentence(self, user: str, field: str) -> str:
        """Return what is said in the log of that user's groups; empty: all have become groups of the Hub.

        Args:
            user: Name of the user.
            field: Where the table is written.
        """
        parts = []
        if self.dropped:
            parts.append(f"{len(self.dropped)} of {user}'s groups match no row, such as {self.dropped[0][:LONGEST]!a}")
        if self.too_many:
            parts.append(f"{self.too_many} of {user}'s groups are beyond the first {MOST}: write narrower patterns")
        if self.unread:
            parts.append(
                f"{self.unread} of {user}'s groups are beyond the first {MOST_READ}: let the provider name fewer"
            )
        return f"{field}: {'; '.join(parts)}" if parts else ""


@dataclass(frozen=True, slots=True)
class _Row:
    pattern: re.Pattern[str]
    group: str  #: Empty: the name stays as it is.
    admin: bool

    def group_of(self, name: str) -> str | None:
        """Return the name that this row makes of a group of the provider; None: it does not match."""
        found = self.pattern.fullmatch(name)
        if found is None or not self.group:
            return None if found is None else name
        return _PART.sub(lambda part: found[_key(part)] or "", self.group)


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The rows; of a group the first counts that matches."""

    rows: tuple[_Row, ...]
    #: Groups of the Hub whose members are admins.
    admins: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], field: str) -> GroupTable:
        """Return the table of rows with `match`, `group` and `admin`.

        Args:
            rows: The rows as they were written.
            field: Where they were written, for errors.

        Raises:
            WrongTable: A row is wrong.
        """
        made = [_row(row, f"{field}[{number}]") for number, row in enumerate(rows)]
        return cls(tuple(made), tuple(dict.fromkeys(row.group for row in made if row.admin)))

    def map(self, names: Iterable[object]) -> Mapped:
        """Return the groups of the Hub that these groups of the provider are."""
        told = sorted({str(name) for name in names})
        told, unread = told[:MOST_READ], len(told[MOST_READ:])
        groups: dict[str, tuple[int, str]] = {}
        dropped = []
        for name in told:
            row, group = self._first(name)
            if group is None or not _is_name(group):
                dropped.append(name)
            else:
                groups.setdefault(group, (row, name))
        ordered = sorted(groups, key=lambda group: (groups[group], group))
        return Mapped(tuple(ordered[:MOST]), tuple(dropped), max(0, len(ordered) - MOST), unread)

    def _first(self, name: str) -> tuple[int, str | None]:
        if len(name) <= LONGEST:
            for number, row in enumerate(self.rows):
                if (group := row.group_of(name)) is not None:
                    # Else a pattern for teams would make an admin of all who may name a team.
                    return number, group if row.admin or group not in self.admins else None
        return len(self.rows), None


def _row(row: Mapping[str, Any], place: str) -> _Row:
    match, group, admin = str(row.get("match") or ""), str(row.get("group") or ""), bool(row.get("admin"))
    if not match:
        raise WrongTable(f"{place}.match: is empty; write a pattern that whole names match, such as gpu-(.+)")
    try:
        pattern = re.compile(match)
    except re.error as error:
        raise WrongTable(f"{place}.match: {match!r} is no pattern of Python's `re`: {error}") from None
    parts = [_key(part) for part in _PART.finditer(group)]
    missing = [key for key in parts if key not in pattern.groupindex and key not in range(pattern.groups + 1)]
    if missing:
        raise WrongTable(f"{place}.group: {group!r} wants part {missing[0]}, which {match!r} has no parentheses for")
    if group and not _is_name(_PART.sub("x", group)):
        raise WrongTable(
            f"{place}.group: {group!r} is no name: up to 127 letters, digits and . _ - + @, a letter first"
        )
    if admin and parts:
        raise WrongTable(f"{place}.group: {group!r} is of several groups; beside `admin` write one, such as hai-admins")
    if admin and not group and not _is_name(match):
        raise WrongTable(f"{place}.group: is empty, and {match!r} is no name; beside `admin` write such as hai-admins")
    return _Row(pattern, (group or match) if admin else group, admin)


def _key(part: re.Match[str]) -> int | str:
    said = part[1] or part[2]
    return int(said) if said.isdigit() else said


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and refusal_of(text) is None
