"""The queue of orders: one order at a time for each user, and users take turns."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Final

from hai_scheduler.service.shared.errors import TooMany, Unavailable

#: The most requests that may wait, of all users and of one.
MOST_WAITING: Final = 512
MOST_WAITING_OF_ONE: Final = 64
#: Seconds after which a user with too many waiting requests may try again.
RETRY_AFTER: Final = 5


class FairQueue:
    """Lets `slots` requests run at a time, never two of one user; users take turns, however many requests each has.

    Args:
        slots: How many requests run at a time.
        most: How many requests may wait.
        most_of_one: How many requests of one user may wait.
    """

    def __init__(self, slots: int, *, most: int = MOST_WAITING, most_of_one: int = MOST_WAITING_OF_ONE) -> None:
        self._free = slots
        self._most, self._most_of_one = most, most_of_one
        #: Users with a running request.
        self._in: set[str] = set()
        #: The waiting requests, by user.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        #: The growing number of the last turn of each user with a running or waiting request.
        self._turns: dict[str, int] = {}
        self._numbers = count(1)

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Wait for a slot, and hold it in the context. Raises TooMany and Unavailable."""
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
                self._leave(user)  # the slot had just been given to it
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
        """Give free slots to the waiting users whose last turn is longest ago."""
        while self._free and (user := self._next()) is not None:
            line = self._waiting[user]
            here = line.popleft()
            if not line:
                del self._waiting[user]
            if not here.done():  # otherwise the request was cancelled, and its asyncio task has not run since
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
