"""Turns: of a few slots each user has one at a time, and those who wait take turns."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count


class Turns:
    """Lets `slots` requests run at a time, never two of one user; users take turns, however many requests each has.

    Args:
        slots: How many requests run at a time.
    """

    def __init__(self, slots: int) -> None:
        self._free = slots
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

    def waiting_of(self, user: str) -> int:
        """Return the number of waiting requests of a user."""
        return len(self._waiting.get(user, ()))

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Wait for a slot, and hold it in the context."""
        await self.enter(user)
        try:
            yield
        finally:
            self.leave(user)

    async def enter(self, user: str) -> None:
        """Wait for a slot, which `leave` gives back."""
        if self._free and user not in self._in and user not in self._waiting:
            self._take(user)
            return
        here: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(here)
        try:
            await here
        except asyncio.CancelledError:
            if here.done() and not here.cancelled():
                self.leave(user)  # the slot had just been given to it
            else:
                self._forget(user, here)
            raise

    def leave(self, user: str) -> None:
        """Give back the slot of a user."""
        self._free += 1
        self._in.discard(user)
        if user not in self._waiting:
            self._turns.pop(user, None)
        self._let_in()

    def _take(self, user: str) -> None:
        self._free -= 1
        self._in.add(user)
        self._turns[user] = next(self._numbers)

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
