"""The ranks of a job agree on the step at which all of them leave, without a collective.

A collective would hang code that asks on rank 0 alone. Instead the ranks use the store that torch.distributed has
(c10d `Store`: set, get, check, add). Once one rank knows of the notice, each rank writes at every call how many calls
it has made. When all ranks that ever asked have written, one of them becomes the decider. It reads the numbers, and
decides that all ranks leave at the call after the greatest. No rank waits for a step of another rank: it waits for the
decision only, and the decider is between two steps and reads. No rank can be past the call that is decided, because a
rank writes its number before it looks for a decider, and the decider announces itself before it reads.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

#: Time between two looks into the store for the decision, seconds.
LOOK_EVERY_S = 0.005


class Agreement:
    """One rank's part in the agreement. All ranks must have made the same number of calls at the same step.

    Args:
        store: The store of the default process group.
        rank: This process's rank in the group.
        size: The number of ranks.
        clock: Returns seconds that only grow, for the patience.
        pause: Waits for a number of seconds.
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
        #: When this rank learned of the notice, seconds of the clock.
        self._known_at: float | None = None

    def leave(self, told: bool, patience_s: float) -> bool:
        """Return whether to leave now.

        Args:
            told: Whether this rank knows of the notice.
            patience_s: How long to wait for ranks that asked before and have stopped asking, seconds.

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
            self._leave_at = self._decision(patience_s)
        return self._leave_at is not None and self._calls >= self._leave_at

    def _decision(self, patience_s: float) -> int | None:
        """Return the number of the call at which all ranks leave; None: not decided yet."""
        store = self.store
        if self._known_at is None:
            self._known_at = self._clock()
        store.set("hai/told", "1")
        store.set(f"hai/calls/{self._rank}", str(self._calls))
        if not store.check(["hai/deciders"]):
            if not self._all_here() and self._clock() - self._known_at < patience_s:
                return None
            if store.add("hai/deciders", 1) == 1:
                calls = self._calls_of_all()
                leave_at = self._calls if list(calls) == [self._rank] else max(calls.values()) + 1
                store.set("hai/leave_at", str(leave_at))
                return leave_at
        end = self._clock() + patience_s
        while not store.check(["hai/leave_at"]):
            if self._clock() >= end:
                # The decider was killed before it wrote the decision.
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

    def _calls_of_all(self) -> dict[int, int]:
        names = {rank: f"hai/calls/{rank}" for rank in range(self._size)}
        return {rank: int(self.store.get(name)) for rank, name in names.items() if self.store.check([name])}


class Agreements:
    """This process's part in the agreement of the store that torch.distributed has now: a new store, a new part."""

    def __init__(self) -> None:
        self._agreement: Agreement | None = None
        #: Whether this process is a fork of a process that had joined torch.distributed: the store is the parent's.
        self._store_is_parents = False

    def current(self) -> Agreement | None:
        """Return this rank's part in the agreement; None with only one rank, or without torch.distributed."""
        # Never imported here: a program that uses torch.distributed has imported it.
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or self._store_is_parents:
            return None
        try:
            if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() < 2:
                return None
            store = distributed.distributed_c10d._get_default_store()
            if self._agreement is None or self._agreement.store is not store:
                self._agreement = Agreement(store, distributed.get_rank(), distributed.get_world_size())
        except (AttributeError, RuntimeError, ValueError):
            # torch.distributed is being imported or destroyed, or its version keeps the store elsewhere.
            return None
        return self._agreement

    def after_fork(self) -> None:
        """Give up the part in a forked child: parent and child must not share the connection to the store."""
        self._store_is_parents = self.current() is not None
        self._agreement = None
