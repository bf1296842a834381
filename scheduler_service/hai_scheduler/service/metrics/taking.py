"""Takes the points that the supervisors of ranks send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from hai_scheduler.core.metrics.series import WINDOW_S, Point
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.bus import Bus
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.store import Store
from hai_scheduler.service.metrics.idle_gpus import IdleGpus
from hai_scheduler.service.metrics.job_reports import JobReport, JobReports
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.runs.rank_reports import recent_run
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.topics import points_topic

#: How far ahead the clock of a node may be, seconds. A point beyond that would hide all that come after it.
AHEAD_S: Final = 300
#: How long after the end of a run its last points are taken: a rank that ends while the service is away sends late.
LATE: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsTaken:
    """The answer to points that were stored."""

    #: The end of the rank's newest point, Unix time in seconds.
    newest: int
    #: When the rank is to send the next points, seconds from now.
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsIntake:
    """The use case of ranks that send metrics."""

    store: Store
    bus: Bus
    clock: Clock
    pace: Pace = field(default_factory=Pace)
    #: Who looks for idle GPUs; None: nobody.
    idle: IdleGpus | None = None
    jobs: JobReports = field(default_factory=JobReports)

    async def take(
        self, run_id: RunId, rank: int, points: Sequence[Point], report: JobReport | None = None
    ) -> PointsTaken:
        """Store points of a rank; those that are there already are left out, so that it may send them again.

        Args:
            run_id: The run.
            rank: The rank.
            points: Its points, in order of time. Of numbers of the job's own, 50 names by run are kept, of 16 ranks.
            report: How far its job has come, if that is new.

        Raises:
            Conflict: The run is over for longer than `LATE`.
            Invalid: The run has no such rank, or the points are not in order, not of whole windows, or of the future.
            Temporary: The store cannot write now.
        """
        moment = self.clock.now()
        now = moment.timestamp()
        before = 0
        for number, point in enumerate(points):
            name = f"points[{number}].at"
            if point.at % WINDOW_S or point.at <= before:
                raise Invalid(
                    name, point.at, f"points end at multiples of {WINDOW_S} s, each later than the one before"
                )
            if point.at > now + AHEAD_S:
                raise Invalid(name, point.at, "lies in the future: set the clock of the node")
            before = point.at
        async with self.store.read() as tx:
            task, _ = await recent_run(tx, run_id, rank, since=moment - LATE)
        newest = await self.store.series.append(run_id, rank, self.jobs.bounded(run_id, rank, points))
        if task is not None and self.idle is not None:
            await self.idle.saw(task, rank, points)
        if report is not None:
            await self.jobs.advance(self.store, run_id, rank, report, moment)
        steady = self.clock.steady()
        if self.pace.watched(run_id, steady):
            await self.bus.ring(points_topic(run_id))
        return PointsTaken(newest=newest, after=self.pace.next_after(run_id, rank, steady))
