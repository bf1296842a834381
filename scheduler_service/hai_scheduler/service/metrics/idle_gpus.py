"""Notes in a task since when GPUs of it are idle (I1), from the points that its ranks send."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from hai_scheduler.core.lifecycle.events import GpusIdle
from hai_scheduler.core.metrics.idle import idle_at_end, idle_since
from hai_scheduler.core.metrics.series import WINDOW_S, Point
from hai_scheduler.core.metrics.series_piece import SeriesPiece
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.runs.rank_reports import live_rank, live_run
from hai_scheduler.service.shared.changes import change
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.errors import Conflict
from hai_scheduler.service.shared.joint_read import JointRead
from hai_scheduler.service.shared.world import UseCase

#: Ranks that are remembered at most; those that have sent nothing for longest are forgotten first.
MOST: Final = 20_000
#: Runs whose reads are remembered at most.
MOST_RUNS: Final = 1_000


class _Known(NamedTuple):
    """What the points of a rank have said so far, Unix time in seconds."""

    newest: int
    since: int | None


@dataclass(slots=True, eq=False)
class IdleGpus(UseCase):
    """The use case of ranks whose GPUs do nothing.

    A task is written when the GPUs of a rank have been idle for `idle_after`, and when they work again. What was sent
    to another replica, or before a restart, is read from the series.
    """

    _known: OrderedDict[tuple[RunId, int], _Known] = field(default_factory=OrderedDict)
    _reads: OrderedDict[RunId, JointRead[Run | None]] = field(default_factory=OrderedDict)

    async def saw(self, task: Task, rank: int, piece: SeriesPiece) -> None:
        """Look at points of a rank, which are stored already.

        The task may be as it was minutes ago; before a change is written it is read again.

        Raises:
            Temporary: The store cannot write now.
        """
        run = task.live_run
        if not piece.ends or run is None:
            return
        policy = self.policies.of(task.group)
        known = self._known.get((run.id, rank))
        end = piece.ends[-1]
        since: int | None = None
        # Most GPUs work: a rank that does at the end is not idle, whatever was before.
        if idle_at_end(piece.columns, policy):
            points = piece.points()
            if known is None or points[0].at > known.newest + WINDOW_S:
                known = await self._from_series(run.id, rank, points, policy)
            since = idle_since([point for point in points if point.at > known.newest], known.since, policy)
        elif known is not None and known.newest >= end:
            since = known.since
        works_on = known is not None and known.since is None and piece.ends[0] <= known.newest + WINDOW_S
        self._known[run.id, rank] = _Known(end if known is None else max(known.newest, end), since)
        self._known.move_to_end((run.id, rank))
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        if works_on and since is None:
            # Nothing was noted since the last piece, by no replica: it needs no look.
            return
        enough = since is not None and end - since >= policy.idle_after.total_seconds()
        found = datetime.fromtimestamp(since, UTC) if enough and since is not None else None
        await self._note(run.id, rank, found)

    async def _from_series(self, run_id: RunId, rank: int, points: Sequence[Point], policy: Policy) -> _Known:
        """What the points before these say; a rank that works now needs no look."""
        before = points[0].at - WINDOW_S
        if idle_since(points, None, policy) is None:
            return _Known(before, None)
        back = int((policy.idle_after + timedelta(minutes=1)).total_seconds())
        series = await self.store.series.newer(run_id, {rank: before - back})
        earlier = [point for point in series.get(rank, ()) if point.at <= before]
        return _Known(before, idle_since(earlier, None, policy))

    async def _note(self, run_id: RunId, rank: int, since: datetime | None) -> None:
        """Note it in the task, unless it is noted already."""
        run = await self._run(run_id)
        if run is None or (run.ranks[rank].idle_gpus_since is None) == (since is None):
            return
        async with self.store.write() as tx:
            try:
                task, _ = await live_rank(tx, run_id, rank)
            except Conflict:
                return
            event = GpusIdle(at=self.clock.now(), rank=rank, since=since)
            changed, _ = await change(tx, task, event, actor=f"run {run_id}")
        if changed != task:
            await ring_change(self.bus)

    async def _run(self, run_id: RunId) -> Run | None:
        """The run as it is now; None: it is over.

        After a restart all ranks of a gang ask at once, and a run of 1,500 ranks takes long to read.
        """
        if run_id not in self._reads:
            self._reads[run_id] = JointRead(partial(self._read, run_id))
            while len(self._reads) > MOST_RUNS:
                self._reads.popitem(last=False)
        return await self._reads[run_id].result()

    async def _read(self, run_id: RunId) -> Run | None:
        async with self.store.read() as tx:
            try:
                return (await live_run(tx, run_id))[1]
            except Conflict:
                return None
