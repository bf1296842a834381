"""Who computes next: one thing at a time for each user, and users in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Final

from hai_scheduler.service.shared.errors import TooMany, Unavailable

#: Requests that wait, of all users and of one.
MOST_WAITING: Final = 512
MOST_WAITING_OF_ONE: Final = 64
#: When a user who has too many waiting may try again, seconds.
RETRY_AFTER: Final = 5


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
        #: Who waits, by user.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        #: When users who are in or wait have had their last turn: numbers that grow.
        self._turns: dict[str, int] = {}
        self._numbers = count(1)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Wait for a place, and hold it. Raises TooMany and Unavailable."""
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
            raise TooMany(
                f"You have {self._most_of_one} requests waiting to be computed, which is the most: wait for an answer.",
                retry_after=RETRY_AFTER,
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
        self._turns[user] = next(self._numbers)

    def _leave(self, user: str) -> None:
        self._free += 1
        self._in.discard(user)
        if user not in self._waiting:
            self._turns.pop(user, None)
        self._let_in()

    def _let_in(self) -> None:
        """Give what is free to those users of the waiting whose last turn is the longest ago."""
        while self._free and (user := self._next()) is not None:
            line = self._waiting[user]
            here = line.popleft()
            if not line:
                del self._waiting[user]
            if not here.done():  # else he has hung up, and his task has not heard of it yet
                self._take(user)
                here.set_result(None)

    def _next(self) -> str | None:
        waiting = [user for user in self._waiting if user not in self._in]
        return min(waiting, key=lambda user: self._turns.get(user, 0), default=None)

    def _forget(self, user: str, here: asyncio.Future[None]) -> None:
        line = self._waiting.get(user, deque())
        if here in line:
            line.remove(here)
        if not line:
            self._waiting.pop(user, None)
            if user not in self._in:
                self._turns.pop(user, None)
