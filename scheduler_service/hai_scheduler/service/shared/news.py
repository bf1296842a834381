"""The latest events, read once for all streams and for all requests that wait for a change of a task."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.ports.bus import Bus
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.shared_reading import SharedReading
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.store.store import Store

#: Events that are read from the store at once.
PAGE: Final = 200
#: Events that are held for readers who are a little behind; a reader who is further behind reads the store.
HELD: Final = 1000


class Newspaper(SharedReading):
    """The events since the first reader began to follow."""

    def __init__(self, store: Store, bus: Bus, look_every: float) -> None:
        super().__init__()
        self._store, self._bus, self._look_every = store, bus, look_every
        self._events: list[HistoryEvent] = []
        #: All events that were read and have a greater seq are held; None before the first look.
        self._since: int | None = None

    @property
    def begun(self) -> bool:
        """True after the first look at the store."""
        return self._since is not None

    def holds(self, after: int) -> bool:
        """True if `later` returns every event that was read and has a seq greater than `after`."""
        return self._since is not None and after >= self._since

    def later(self, after: int) -> Sequence[HistoryEvent]:
        """The events that were read and have a seq greater than `after`, in order."""
        return self._events[bisect_right(self._events, after, key=_seq) :]

    @property
    def latest(self) -> int:
        """The seq of the latest event that was read; 0 before the first look."""
        return self._events[-1].seq if self._events else self._since or 0

    async def read_on(self) -> None:
        """Read new events after each ring, and at least every `look_every` seconds."""
        async with self._bus.listen(FEED) as ears:
            async with self._store.read() as tx:
                last = self._since = await tx.events.last_seq()
            self.tell()
            while True:
                async with self._store.read() as tx:
                    page = await tx.events.page(after=last, limit=PAGE)
                if page:
                    last = page[-1].seq
                    self._hold(page)
                    self.tell()
                if len(page) < PAGE:
                    await ears.wait(self._look_every)

    def _hold(self, page: Sequence[HistoryEvent]) -> None:
        self._events = [*self._events, *page]
        if len(self._events) > HELD:
            self._since = self._events[-HELD - 1].seq
            self._events = self._events[-HELD:]


@dataclass(slots=True, kw_only=True)
class News:
    """Gives all readers at the same time the same newspaper."""

    store: Store
    bus: Bus
    #: Longest time between two looks, in seconds: a lost ring delays events by at most that.
    look_every: float = 2.0
    _latest: Newspaper | None = field(default=None, init=False)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Newspaper]:
        """The newspaper, followed until the context ends."""
        if self._latest is None or self._latest.failed or not self._latest.followed:
            self._latest = Newspaper(self.store, self.bus, self.look_every)
        paper = self._latest
        async with paper.followed_by_me():
            yield paper


def tells_of(events: Sequence[HistoryEvent], task_id: TaskId) -> bool:
    """True if one of the events is about the task."""
    return any(event.task_id == task_id for event in events)


def _seq(event: HistoryEvent) -> int:
    return event.seq
