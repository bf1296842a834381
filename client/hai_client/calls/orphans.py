"""The REST calls for orphaned runs."""

from __future__ import annotations

from hai_client.backports import dataclass
from hai_client.calls.base import Calls, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """An orphaned run: it belongs to no task, because the database was restored or replaced."""

    run: str
    origin: str | None = None  #: Database and epoch that decided the run; None where they are unknown.
    user: str | None = None
    nodes: tuple[str, ...] = ()  #: The nodes that the run holds.
    live: bool
    ending: bool = False  #: Whether an admin has asked for its end.


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanList:
    """All orphaned runs."""

    items: tuple[Orphan, ...]


class OrphanCalls(Calls):
    """The calls of `Client` for orphaned runs."""

    def orphans(self) -> tuple[Orphan, ...]:
        """Return all orphaned runs. For admins."""
        return self._get(OrphanList, "GET", "/orphans").items

    def end_orphan(self, run: str) -> Orphan:
        """End an orphaned run; a second call is harmless. For admins."""
        return self._get(Orphan, "POST", f"/orphans/{quoted(run, 'run')}/end")
