"""The accounts of files as `getent passwd` and `getent group` print them.

As the C library does, the first line of a name counts. A line that cannot be read is nobody's account; who looks for
the name that it begins with is told its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hai_scheduler.core.workspace.identity import Identity, NoIdentity, UnixGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    uid: int
    gid: int
    home: str
    shell: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountTable:
    """The accounts and groups of such files."""

    entries: Mapping[str, _Entry] = field(default_factory=dict)
    #: By name, the number of its line, which cannot be read.
    damaged: Mapping[str, int] = field(default_factory=dict)
    #: Names of groups by number.
    names: Mapping[int, str] = field(default_factory=dict)
    #: Numbers of the groups that name a member, in the order of the file, by member.
    memberships: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def parse(cls, passwd: str, group: str) -> AccountTable:
        """Read the texts of the two files."""
        entries: dict[str, _Entry] = {}
        damaged: dict[str, int] = {}
        for line, (name, *fields) in _lines(passwd):
            if name in entries or name in damaged:
                continue
            entry = _entry(fields)
            if entry is None:
                damaged[name] = line
            else:
                entries[name] = entry
        names: dict[int, str] = {}
        memberships: dict[str, tuple[int, ...]] = {}
        for _, (name, *fields) in _lines(group):
            gid = _number(fields[1]) if len(fields) == 3 else None
            if gid is None:
                continue
            names.setdefault(gid, name)
            for member in filter(None, (one.strip() for one in fields[2].split(","))):
                memberships[member] = (*memberships.get(member, ()), gid)
        return cls(entries=entries, damaged=damaged, names=names, memberships=memberships)

    def of(self, user: str) -> Identity:
        """Return the account of that name, unchecked. Raises NoIdentity: there is none."""
        entry = self.entries.get(user)
        if entry is None:
            line = self.damaged.get(user)
            wrong = "the directory has no account of that name" if line is None else f"line {line} cannot be read"
            raise NoIdentity(
                f"no process is started for the user {user!r}: {wrong}; an admin writes it into the file of accounts "
                "(identity.file), as `getent passwd` prints it"
            )
        gids = dict.fromkeys((entry.gid, *self.memberships.get(user, ())))
        return Identity(
            name=user,
            uid=entry.uid,
            groups=tuple(UnixGroup(gid=gid, name=self.names.get(gid, "")) for gid in gids),
            home=entry.home.rstrip("/"),
            shell=entry.shell or "/bin/sh",
        )


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line with its number, without comments and lines for NIS."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.startswith(("#", "+", "-")):
            yield number, line.rstrip("\r").split(":")


def _entry(fields: list[str]) -> _Entry | None:
    if len(fields) != 6:
        return None
    uid, gid = _number(fields[1]), _number(fields[2])
    return None if uid is None or gid is None else _Entry(uid=uid, gid=gid, home=fields[4], shell=fields[5])


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None
