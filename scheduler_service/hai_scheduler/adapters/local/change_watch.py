"""Notices that live ranks have changed: by the end of a supervisor, and by the times of their status files."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable

from hai_scheduler.adapters.local.known_runs import KnownRuns
from hai_scheduler.adapters.local.runs import LocalRank

#: How often the files of live runs are looked at, in seconds.
LOOK_EVERY_S = 0.1


class ChangeWatch:
    """Wakes its listeners at the end of each followed supervisor, at once, and when the status of a live rank changes.

    Args:
        runs: The runs, which say which ranks are live.
    """

    def __init__(self, runs: KnownRuns) -> None:
        self._runs = runs
        self._listeners: set[asyncio.Event] = set()
        #: Handles that become readable when a supervisor ends, by its pid.
        self._handles: dict[int, int] = {}

    async def changes(self) -> AsyncIterator[None]:
        """Yield when a supervisor has ended, at once, and when a status has changed, within LOOK_EVERY_S seconds."""
        event = asyncio.Event()
        self._listeners.add(event)
        try:
            await self._runs.load()
            seen = self._fingerprint()
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY_S if seen else None):
                        await event.wait()
                now = self._fingerprint()
                if event.is_set() or now != seen:
                    event.clear()
                    seen = now
                    yield
        finally:
            self._listeners.discard(event)

    def _fingerprint(self) -> dict[str, int]:
        """Return when the status files of live ranks have changed, by folder; empty without live ranks."""
        return {str(rank.folder.path): rank.folder.changed_at() for rank in self._runs.live()}

    def wake(self) -> None:
        """Tell the listeners that something has changed."""
        for event in self._listeners:
            event.set()

    def follow(self, ranks: Iterable[LocalRank]) -> None:
        """Arrange to be woken when the supervisors of these ranks end."""
        for rank in ranks:
            pid = rank.supervisor
            if pid is not None and pid not in self._handles:
                # Without a handle, the look at the files still finds the end.
                with contextlib.suppress(OSError):
                    self._handles[pid] = os.pidfd_open(pid)
                    asyncio.get_running_loop().add_reader(self._handles[pid], self._on_end, pid, rank)

    def _on_end(self, pid: int, rank: LocalRank) -> None:
        self._drop(pid)
        rank.reap()
        self.wake()

    def _drop(self, pid: int) -> None:
        handle = self._handles.pop(pid)
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)

    def close(self) -> None:
        """Close all handles; the supervisors go on."""
        for pid in list(self._handles):
            self._drop(pid)
