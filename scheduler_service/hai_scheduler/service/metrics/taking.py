"""Takes the points that the supervisors of ranks send."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.metrics.series import WINDOW_S
from hai_scheduler.core.metrics.series_piece import RankPiece, SeriesPiece
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.metrics.gathering import PieceGatherer
from hai_scheduler.service.metrics.idle_gpus import IdleGpus
from hai_scheduler.service.metrics.job_reports import JobReport, JobReports
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.runs.rank_reports import check_rank, recent_run
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.topics import points_topic
from hai_scheduler.service.shared.world import UseCase

#: How far ahead the clock of a node may be, seconds. A point beyond that would hide all that come after it.
AHEAD_S: Final = 300
#: How long after the end of a run its last points are taken: a rank that ends while the service is away sends late.
LATE: Final = timedelta(minutes=10)
#: For how long a run that was live is taken for one that ended less than `LATE` ago, without another look.
TRUSTED: Final = LATE - timedelta(minutes=1)
#: Runs that are remembered at most.
MOST_RUNS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsTaken:
    """The answer to points that were stored."""

    #: The end of the rank's newest point, Unix time in seconds.
    newest: int
    #: When the rank is to send the next points, seconds from now.
    after: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """A task whose run was live."""

    task: Task
    at: datetime


@dataclass(slots=True, eq=False)
class MetricsIntake(UseCase):
    """The use case of ranks that send metrics."""

    pace: Pace = field(default_factory=Pace)
    #: Who looks for idle GPUs; None: nobody.
    idle: IdleGpus | None = None
    jobs: JobReports = field(default_factory=JobReports)
    _live: OrderedDict[RunId, _Seen] = field(default_factory=OrderedDict)
    _gatherer: PieceGatherer = field(init=False)

    def __post_init__(self) -> None:
        self._gatherer = PieceGatherer(self.store, self.clock)

    async def take(self, run_id: RunId, rank: int, piece: SeriesPiece, report: JobReport | None = None) -> PointsTaken:
        """Store points of a rank; those that are there already are left out, so that it may send them again.

        Args:
            run_id: The run.
            rank: The rank.
            piece: Its points, in order of time. Of numbers of the job's own, 50 names by run are kept, of 16 ranks.
            report: How far its job has come, if that is new.

        Raises:
            Conflict: The run is over for longer than `LATE`.
            Invalid: The run has no such rank, or the points are not in order, not of whole windows, or of the future.
            Temporary: The store cannot write now.
        """
        moment = self.clock.now()
        now = moment.timestamp()
        before = 0
        for number, at in enumerate(piece.ends):
            name = f"points[{number}].at"
            if at % WINDOW_S or at <= before:
                raise Invalid(name, at, f"points end at multiples of {WINDOW_S} s, each later than the one before")
            if at > now + AHEAD_S:
                raise Invalid(name, at, "lies in the future: set the clock of the node")
            before = at
        task = await self._task(run_id, rank, moment)
        watched = self.pace.watched(run_id, self.clock.steady())
        newest = await self._gatherer.put(
            RankPiece(run_id, rank, self.jobs.bounded(run_id, rank, piece)),
            wait=0 if watched else self.pace.gather(),
        )
        if task is not None and self.idle is not None:
            await self.idle.saw(task, rank, piece)
        if report is not None:
            await self.jobs.advance(self.store, run_id, rank, report, moment)
        if watched:
            await self.bus.ring(points_topic(run_id))
        return PointsTaken(newest=newest, after=self.pace.next_after(run_id, rank, self.clock.steady()))

    async def _task(self, run_id: RunId, rank: int, moment: datetime) -> Task | None:
        """The task of a run that is live, or was `TRUSTED` ago; None if it is over. Raises as `recent_run`."""
        seen = self._live.get(run_id)
        if seen is not None and moment - seen.at < TRUSTED and seen.task.live_run is not None:
            check_rank(seen.task.live_run, rank)
            return seen.task
        async with self.store.read() as tx:
            task, _ = await recent_run(tx, run_id, rank, since=moment - LATE)
        if task is not None:
            self._live[run_id] = _Seen(task, moment)
            self._live.move_to_end(run_id)
            while len(self._live) > MOST_RUNS:
                self._live.popitem(last=False)
        return task
