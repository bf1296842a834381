"""Who computes next: one thing at a time for each user, and users in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

from hai_scheduler.service.errors import HaiError, Unavailable

#: Requests that wait, of all users and of one.
MOST_WAITING: Final = 512
MOST_WAITING_OF_ONE: Final = 64


class TooManyWaiting(HaiError):
    """The user has as many requests waiting as he may."""

    code = "too_many"


class FairQueue:
    """Lets so many in at a time, never two of one user; users who wait take turns, whatever each has sent.

    Args:
        slots: How many are in at a time.
        most: How many may wait.
        most_of_one: How many of one user may wait.
    """

    def __init__(self, slots: int, *, most: int = MOST_WAITING, most_of_one: int = MOST_WAITING_OF_ONE) -> None:
        self._free = slots
        self._most, self._most_of_one = most, most_of_one
        #: Users who are in.
        self._in: set[str] = set()
        #: Who waits, by user: the user whose turn comes next is first.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Wait for a place, and hold it. Raises TooManyWaiting and Unavailable."""
        await self._enter(user)
        try:
            yield
        finally:
            self._leave(user)

    async def _enter(self, user: str) -> None:
        if self._free and user not in self._in and user not in self._waiting:
            self._take(user)
            return
        if len(self._waiting.get(user, ())) >= self._most_of_one:
            raise TooManyWaiting(
                f"You have {self._most_of_one} requests waiting to be computed, which is the most: wait for an answer."
            )
        if self.waiting >= self._most:
            raise Unavailable("Too much waits to be computed: try again in a moment.")
        here: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(here)
        try:
            await here
        except asyncio.CancelledError:
            if here.done() and not here.cancelled():
                self._leave(user)  # it had just been let in
            else:
                self._forget(user, here)
            raise

    def _take(self, user: str) -> None:
        self._free -= 1
        self._in.add(user)

    def _leave(self, user: str) -> None:
        self._free += 1
        self._in.discard(user)
        self._let_in()

    def _let_in(self) -> None:
        """Give what is free to the users who have waited longest for a turn."""
        for user in list(self._waiting):
            if not self._free:
                return
            if user in self._in:
                continue
            line = self._waiting.pop(user)
            # One who has hung up stays in line until his task has heard of it.
            here = next((one for one in _leaving(line) if not one.done()), None)
            if here is not None:
                self._take(user)
                here.set_result(None)
            if line:
                self._waiting[user] = line  # behind all the others

    def _forget(self, user: str, here: asyncio.Future[None]) -> None:
        line = self._waiting.get(user)
        if line is not None and here in line:
            line.remove(here)
            if not line:
                del self._waiting[user]


def _leaving(line: deque[asyncio.Future[None]]) -> Iterator[asyncio.Future[None]]:
    """Those in line, who leave it."""
    while line:
        yield line.popleft()
