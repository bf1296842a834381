"""Tells the ranks of a run each other's addresses."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent
from hai_scheduler.service.runs.rank_reports import live_rank
from hai_scheduler.service.shared.errors import Conflict
from hai_scheduler.service.shared.topics import TICK
from hai_scheduler.service.shared.world import UseCase


@dataclass(slots=True, eq=False)
class Rendezvous(UseCase):
    """The use case of ranks that wait for each other."""

    #: Longest time between two looks, in seconds; changes of the cluster ring earlier.
    look_every: float = 5.0

    async def addresses(self, run_id: RunId, rank: int, *, wait: float) -> tuple[str, ...] | None:
        """The addresses of all ranks, in rank order; None if not all of them are up after `wait` seconds.

        Raises:
            Conflict: The run is over, or was told to leave.
            Invalid: The run has no such rank.
        """
        ends = self._now() + wait
        async with self.bus.listen(TICK) as ears:
            checked = await self._check(run_id, rank)
            while True:
                found = await self._look(run_id)
                left = ends - self._now()
                if found is not None or left <= 0:
                    return found
                await ears.wait(min(left, self.look_every))
                if self._now() - checked >= self.look_every:
                    # A large gang rings often while it starts: the database is not read at each ring.
                    checked = await self._check(run_id, rank)

    def _now(self) -> float:
        return self.clock.now().timestamp()

    async def _check(self, run_id: RunId, rank: int) -> float:
        """Check that the run still has to start; returns the time of the check, as a timestamp."""
        async with self.store.read() as tx:
            _, run = await live_rank(tx, run_id, rank)
        if run.killed_at is not None or run.notice is not None:
            raise Conflict(f"Run {run_id} was told to leave: nothing of it starts any more.")
        return self._now()

    async def _look(self, run_id: RunId) -> tuple[str, ...] | None:
        try:
            return await self.cluster.addresses(run_id)
        except Absent:
            # The run was just launched, perhaps by another replica, and does not show yet.
            return None
