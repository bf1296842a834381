"""Virtual time, for tests."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

_T = TypeVar("_T")

#: How often to yield on an event loop that does not show whether it has work left.
_BLIND_YIELDS = 100
#: A program that still runs after this many rounds of the event loop without a wait will never wait.
_MOST_YIELDS = 100_000


class VirtualClock:
    """A clock whose time passes only when it is advanced.

    Sleepers wake in the order of their times, those of the same time in the order in which they fell asleep, and
    `now()` is then exactly the time that was asked for. Between two times everything that can run is left to run, so
    that computing takes no time for a test. It is for one event loop without threads: code that waits
    for a thread or a socket does not count as able to run.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)) -> None:
        self._now = start
        #: What `steady` counts from: later by all that the clock was put forward.
        self._began = start
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        """Return the virtual time, aware UTC."""
        return self._now

    def steady(self) -> float:
        """Return the seconds that have passed on the clock."""
        return (self._now - self._began).total_seconds()

    def put_forward(self, seconds: float) -> None:
        """Set the clock forward, as a machine's clock is set: no time passes, and no sleeper wakes by it."""
        by = timedelta(seconds=seconds)
        self._now, self._began = self._now + by, self._began + by
        self._sleepers = [(until + by, order, woken) for until, order, woken in self._sleepers]

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was advanced by this many seconds; zero or less only lets others run."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        until = self._now + timedelta(seconds=seconds)
        heapq.heappush(self._sleepers, (until, next(self._order), woken))
        await woken

    @property
    def next_wake(self) -> datetime | None:
        """When the first sleeper wakes; None without sleepers."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def advance(self, seconds: float) -> None:
        """Let this many seconds pass, waking sleepers at their times."""
        await self.advance_to(self._now + timedelta(seconds=seconds))

    async def advance_to(self, when: datetime) -> None:
        """Let time pass until then, waking sleepers at their times. Raises ValueError for a time in the past."""
        if when < self._now:
            raise ValueError(f"time does not go back: it is {self._now}, asked for {when}")
        await self.settle()
        while (wake := self.next_wake) is not None and wake <= when:
            self._wake_first()
            await self.settle()
        self._now = when

    async def run(self, work: Coroutine[Any, Any, _T], *, limit: float = 86_400.0) -> _T:
        """Run `work` to its end, letting time pass whenever everything waits for it.

        Raises TimeoutError when `work` needs more than `limit` virtual seconds or waits for something that never
        happens; `work` is cancelled then.
        """
        task = asyncio.ensure_future(work)
        end = self._now + timedelta(seconds=limit)
        try:
            while not await self._settled(task):
                wake = self.next_wake
                if wake is None or wake > end:
                    why = "nobody sleeps" if wake is None else f"the next one wakes at {wake}"
                    raise TimeoutError(f"not done at {self._now}, limit {end}: {why}")
                self._wake_first()
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def settle(self) -> None:
        """Let everything that can run do so, without letting time pass.

        Raises RuntimeError when something runs on without ever waiting.
        """
        # Only the event loop knows whether a callback is left; the attribute is private to CPython's asyncio.
        ready = getattr(asyncio.get_running_loop(), "_ready", None)
        if ready is None:
            for _ in range(_BLIND_YIELDS):
                await asyncio.sleep(0)
            return
        for _ in range(_MOST_YIELDS):
            await asyncio.sleep(0)
            if not ready:
                return
        raise RuntimeError(f"something runs on and on at {self._now} without waiting")

    async def _settled(self, task: asyncio.Task[_T]) -> bool:
        await self.settle()
        return task.done()

    def _wake_first(self) -> None:
        when, _, woken = heapq.heappop(self._sleepers)
        self._now = max(self._now, when)
        if not woken.done():
            woken.set_result(None)
