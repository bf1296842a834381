"""Who the processes of a user are: the numbers to which their files belong.

The numbers come from a directory of the company's: from claims of the login, or from files as `getent` prints them. The
answer holds for tasks, development containers, spot containers and builds alike. What no process may be is refused
here, whatever the directory says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.workspace.templates import Unresolvable

#: The largest number of a user or a group that Kubernetes takes.
MAX_ID: Final = 2**31 - 1
#: `nobody`: whom file servers take for the owner of what they do not trust.
NOBODY: Final = 65534
#: The most groups of a user: all are in the annotations of each pod, which hold 256 KiB.
MAX_GROUPS: Final = 200

#: Names that a line of /etc/passwd or /etc/group can hold, and a shell needs not quote.
_NAME: Final = re.compile(r"[^\s:,/\\\"'$`\x00-\x1f\x7f-\x9f-][^\s:,/\\\"'$`\x00-\x1f\x7f-\x9f]{0,127}")
_PATH: Final = re.compile(r"/[^:\x00-\x1f\x7f-\x9f]{0,4094}")


class NoIdentity(Unresolvable):
    """A user's processes can be started as nobody. The message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnixGroup:
    """A group of accounts: its number, and its name if it is known."""

    gid: int
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.gid})" if self.name else str(self.gid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """An account: what the kernel and file servers know of a process, and what programs read of its user."""

    name: str
    uid: int
    #: At least one. New files are of the first one; the others are in the order of the source, as file servers that
    #: take 16 take the first.
    groups: tuple[UnixGroup, ...]
    #: Empty: none is known.
    home: str = ""
    shell: str = "/bin/sh"

    @property
    def gid(self) -> int:
        """The number of the first group."""
        return self.groups[0].gid

    @property
    def others(self) -> tuple[int, ...]:
        """The numbers of the other groups."""
        return tuple(group.gid for group in self.groups[1:])

    def home_in(self, mount_paths: Iterable[str], otherwise: str) -> str:
        """Return the home folder where something is mounted at it or above it, else another folder."""
        for path in mount_paths:
            above = path.rstrip("/")
            if self.home and f"{self.home}/".startswith(f"{above}/"):
                return self.home
        return otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRules:
    """What no user may be."""

    #: Below it are accounts of the system.
    least_uid: int = 1000
    #: Numbers of users and of groups that are the platform's own.
    own_uids: frozenset[int] = frozenset()
    own_gids: frozenset[int] = frozenset()

    def checked(self, user: str, identity: Identity) -> Identity:
        """Return the identity of a user, each group once.

        Args:
            user: The user's name at the Hub.
            identity: What the directory says of the user.

        Raises:
            NoIdentity: No process of the user may have it.
        """
        why = self._fault_of_uid(identity.uid) or self._fault_of_groups(identity.groups) or _fault_of_names(identity)
        if why is not None:
            raise NoIdentity(f"no process is started for the user {user!r}: {why}")
        return identity

    def _fault_of_uid(self, uid: int) -> str | None:
        said = f"uid {uid} of the directory"
        if uid == 0:
            return f"{said} is root's; an admin gives the user a number of their own"
        if uid < 0 or uid > MAX_ID:
            return f"{said} is no number of a user: those are 1 to {MAX_ID}; an admin corrects it"
        if uid < self.least_uid:
            return (
                f"{said} is below {self.least_uid}, where accounts of the system are; an admin gives the user another "
                "number, or lowers identity.leastUid"
            )
        if uid == NOBODY:
            return f"{said} is that of nobody; an admin gives the user a number of their own"
        if uid in self.own_uids:
            return f"{said} is the platform's own; an admin gives the user another number"
        return None

    def _fault_of_groups(self, groups: tuple[UnixGroup, ...]) -> str | None:
        if not groups:
            return "the directory says no group (gid); an admin gives the user one"
        if len(groups) > MAX_GROUPS:
            return f"the directory says {len(groups)} groups; an admin names those that count, {MAX_GROUPS} at most"
        for group in groups:
            said = f"group {group} of the directory"
            if group.gid == 0:
                return f"{said} is root's; an admin takes the user out of it"
            if group.gid < 0 or group.gid > MAX_ID:
                return f"{said} has no number of a group: those are 1 to {MAX_ID}; an admin corrects it"
            if group.gid in self.own_gids:
                return f"{said} is the platform's own; an admin takes the user out of it"
            if group.name and not _NAME.fullmatch(group.name):
                return f"group {group.name[:80]!r} of the directory has no name that /etc/group can hold"
        return None


def _fault_of_names(identity: Identity) -> str | None:
    if not _NAME.fullmatch(identity.name):
        return f"{identity.name[:80]!r} is no name that /etc/passwd can hold; an admin gives the account another one"
    for what, path in (("home", identity.home), ("shell", identity.shell)):
        if path and (not _PATH.fullmatch(path) or ".." in path.split("/")):
            return f"{what} {path[:80]!r} of the directory is no absolute path; an admin corrects it"
    return None


def unlike(user: str, before: int, now: int) -> NoIdentity:
    """Return the error for a task whose user has had another number when it was submitted."""
    return NoIdentity(
        f"the task was submitted when the user {user!r} had uid {before}, and the user has uid {now} now: what it has "
        "saved belongs to the former. An admin gives the files to the new number, and you submit the task again; or "
        "the directory says the former number again"
    )


def doubled(uids: Mapping[str, int]) -> list[tuple[int, list[str]]]:
    """Return the numbers that several users have, with these users; both sorted.

    Args:
        uids: The number of each user, by name.
    """
    users: dict[int, list[str]] = {}
    for user in sorted(uids):
        users.setdefault(uids[user], []).append(user)
    return sorted((uid, names) for uid, names in users.items() if len(names) > 1)
