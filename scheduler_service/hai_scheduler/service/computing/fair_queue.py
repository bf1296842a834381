"""The queue of orders: one order at a time for each user, and users take turns."""

from __future__ import annotations

from typing import Final

from hai_scheduler.ports.turns import Turns
from hai_scheduler.service.shared.errors import TooMany, Unavailable

#: The most requests that may wait, of all users and of one.
MOST_WAITING: Final = 512
MOST_WAITING_OF_ONE: Final = 64
#: Seconds after which a user with too many waiting requests may try again.
RETRY_AFTER: Final = 5


class FairQueue(Turns):
    """Turns for which a bounded number of requests may wait.

    Args:
        slots: How many requests run at a time.
        most: How many requests may wait.
        most_of_one: How many requests of one user may wait.
    """

    def __init__(self, slots: int, *, most: int = MOST_WAITING, most_of_one: int = MOST_WAITING_OF_ONE) -> None:
        super().__init__(slots)
        self._most, self._most_of_one = most, most_of_one

    async def enter(self, user: str) -> None:
        """See `Turns.enter`. Raises TooMany and Unavailable."""
        if self.waiting_of(user) >= self._most_of_one:
            raise TooMany(
                f"You have {self._most_of_one} requests waiting to be computed, which is the most: wait for an answer.",
                retry_after=RETRY_AFTER,
            )
        if self.waiting >= self._most:
            raise Unavailable("Too much waits to be computed: try again in a moment.")
        await super().enter(user)
