"""Finds out whether a running task is silent: by its logs, its checkpoints and its metrics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from hai_scheduler.core.explaining.silence import SILENT_AFTER, SignsOfLife, last_use, silent
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.service.logs.lines import last_lines_of
from hai_scheduler.service.shared.world import UseCase

#: Ranks that are looked at, and how far back.
RANKS: Final = 16
BACK: Final = timedelta(hours=6)
#: How much of the end of a log is read, in bytes; longer than a line.
READ_BYTES: Final = 128 * 1024
#: The last of its lines, one of which has a time stamp.
READ_LINES: Final = 1000
#: An offset behind the end of any log.
_BEHIND: Final = 10**15


class Silence(UseCase):
    """The use case: since when a task that runs shows no sign of life."""

    async def of(self, task: Task) -> SignsOfLife | None:
        """The last signs of a silent task; None for any other."""
        run, now = task.live_run, self.clock.now()
        if task.state is not TaskState.RUNNING or run is None or run.running_at is None:
            return None
        if now - run.running_at < SILENT_AFTER:
            return None
        printed = [at for rank in range(min(RANKS, len(run.ranks))) if (at := await self._printed(run, rank))]
        try:
            series = await self.store.series.read(
                run.id,
                since=int((now - BACK).timestamp()),
                until=int(now.timestamp()),
                step=60,
                ranks=list(range(RANKS)),
            )
        except Temporary:
            return None
        used, gpus = last_use(point for points in series.values() for point in points)
        signs = SignsOfLife(
            printed=max(printed, default=None),
            saved=None if run.checkpoint is None else run.checkpoint.at,
            used=None if used is None else datetime.fromtimestamp(used, UTC),
            gpus=gpus,
        )
        return signs if silent(signs, running_since=run.running_at, now=now) else None

    async def _printed(self, run: Run, rank: int) -> datetime | None:
        """When the rank has printed its last line; None if that is not known."""
        try:
            end = (await self.cluster.read_log(run.id, rank, offset=_BEHIND, limit=1)).start
            chunk = await self.cluster.read_log(run.id, rank, offset=max(0, end - READ_BYTES), limit=READ_BYTES)
        except (Absent, Temporary):
            return None
        lines = await in_reader(lambda: last_lines_of(run.number, rank, [chunk], READ_LINES))
        return next((line.at for line in reversed(lines) if line.at is not None), None)
