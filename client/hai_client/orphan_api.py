"""The calls around runs that belong to no task of the platform's database."""

from __future__ import annotations

from hai_client.backports import dataclass
from hai_client.calls import Calls, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A run that belongs to no task: the platform's database was restored, or is another one."""

    run: str
    #: Database and epoch; None where nobody has written them down.
    origin: str | None = None
    user: str | None = None
    #: The nodes that it holds.
    nodes: tuple[str, ...] = ()
    live: bool
    #: Whether an admin has asked for its end.
    ending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanList:
    """All of them."""

    items: tuple[Orphan, ...]


class OrphanCalls(Calls):
    """The part of `Client` that deals with them."""

    def orphans(self) -> tuple[Orphan, ...]:
        """All orphaned runs. For admins."""
        return self._get(OrphanList, "GET", "/orphans").items

    def end_orphan(self, run: str) -> Orphan:
        """End an orphaned run; saying it twice is harmless. For admins."""
        return self._get(Orphan, "POST", f"/orphans/{quoted(run, 'run')}/end")
