"""The ranks of a job agree on the step at which all of them leave, without a collective.

A collective would hang code that asks on rank 0 alone. Instead ranks leave words in the store that torch.distributed
has (c10d `Store`: set, get, check, add). A rank that learns of the notice writes down how often it has asked until now,
and waits until every rank that ever asked has done the same; all of them leave at the greatest of these numbers. A rank
that is behind reaches it without those that wait: they have already taken part in every step up to their own number.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

#: Between two looks into the store while others are waited for, seconds.
LOOK_EVERY_S = 0.005


class Agreement:
    """One rank's part. Ranks count their calls, and must make as many up to each step.

    Args:
        store: The store of the default process group.
        rank: This process's rank in it.
        size: How many there are.
        clock: Seconds, for the patience.
        pause: Waits so many seconds.
    """

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.store = store
        self._rank = rank
        self._size = size
        self._clock = clock
        self._pause = pause
        self._calls = 0
        #: The call at which all leave.
        self._leave_at: int | None = None

    def leave(self, told: bool, patience_s: float) -> bool:
        """Whether to leave now.

        Args:
            told: Whether this rank knows of the notice.
            patience_s: How long it waits, once, for ranks that asked before and do so no more.

        Raises:
            RuntimeError, OSError: The store does not answer.
        """
        self._calls += 1
        if self._calls == 1:
            # Ranks that never ask are not waited for.
            self.store.set(f"hai/asks/{self._rank}", "1")
        if self._leave_at is None:
            if not told and not self.store.check(["hai/told"]):
                return False
            self._leave_at = self._agree(patience_s)
        return self._calls >= self._leave_at

    def _agree(self, patience_s: float) -> int:
        store = self.store
        store.set(f"hai/calls/{self._rank}", str(self._calls))
        store.set("hai/told", "1")
        end = self._clock() + patience_s
        while not store.check(["hai/leave_at"]):
            late = self._clock() >= end
            if (late or self._all_here()) and store.add("hai/deciders", 1) == 1:
                store.set("hai/leave_at", str(max(self._known())))
                break
            if late:
                # Somebody else was to decide, and has not: nothing is worth a longer wait.
                return self._calls
            self._pause(LOOK_EVERY_S)
        return int(store.get("hai/leave_at"))

    def _all_here(self) -> bool:
        if self.store.check([f"hai/calls/{rank}" for rank in range(self._size)]):
            return True
        return all(
            self.store.check([f"hai/calls/{rank}"]) or not self.store.check([f"hai/asks/{rank}"])
            for rank in range(self._size)
        )

    def _known(self) -> list[int]:
        names = [f"hai/calls/{rank}" for rank in range(self._size)]
        return [int(self.store.get(name)) for name in names if self.store.check([name])]
