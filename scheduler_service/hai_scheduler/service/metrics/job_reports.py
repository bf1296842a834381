"""Takes what jobs report of themselves: how far they have come, and their own numbers, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hai_scheduler.core.metrics.series import OWN, Point
from hai_scheduler.core.metrics.series_piece import SeriesPiece
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.limits import MAX_JOB_NUMBERS
from hai_scheduler.core.model.progress import StepProgress, advanced
from hai_scheduler.ports.errors import Absent
from hai_scheduler.store.store import Store
from hai_scheduler.store.transaction import Tx

#: Ranks of a run whose own numbers are kept: the first ones.
MOST_RANKS: Final = 16
#: Runs whose names are remembered.
MOST_RUNS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """How far a job has come, as it says itself."""

    at: datetime
    step: int
    #: After how many steps it is done; None: not known.
    total: int | None


class JobReports:
    """Bounds what jobs report, and keeps the newest progress of each task."""

    def __init__(self) -> None:
        #: The names of each run, of those that have sent some the latest ones last.
        self._names: OrderedDict[RunId, set[str]] = OrderedDict()

    def bounded(self, run_id: RunId, rank: int, piece: SeriesPiece) -> SeriesPiece:
        """The piece without numbers of the job's own that are too many.

        A supervisor sends no more than that by itself; but it speaks with the run's token, which the job can read.
        """
        own = piece.own_names
        if not own:
            return piece
        known = self._names.setdefault(run_id, set())
        self._names.move_to_end(run_id)
        while len(self._names) > MOST_RUNS:
            self._names.popitem(last=False)
        kept = {name for name in own if _kept(name, rank, known)}
        if len(kept) == len(own):
            return piece
        return SeriesPiece.of([_without(point, kept) for point in piece.points()])

    async def advance(self, store: Store, run_id: RunId, rank: int, report: JobReport, now: datetime) -> None:
        """Keep the progress of a task, if it is newer than what is known. Raises Temporary."""
        task_id = TaskId(int(run_id.partition(".")[0]))
        async with store.read() as tx:
            if await _next(tx, task_id, run_id, rank, report, now) is None:
                return
        async with store.write() as tx:
            # Read again: another rank may have reported meanwhile, and the task may be gone.
            progress = await _next(tx, task_id, run_id, rank, report, now)
            if progress is not None:
                await tx.progress.put(task_id, progress)


async def _next(
    tx: Tx, task_id: TaskId, run_id: RunId, rank: int, report: JobReport, now: datetime
) -> StepProgress | None:
    try:
        await tx.tasks.get(task_id)
    except Absent:
        return None
    before = (await tx.progress.of([task_id])).get(task_id)
    # The clock of a node may be ahead.
    at = min(report.at, now)
    number = int(run_id.partition(".")[2])
    return advanced(before, run=number, rank=rank, step=report.step, total=report.total, at=at)


def _without(point: Point, kept: set[str]) -> Point:
    """The point without those of the job's own numbers that are not kept."""
    values = {name: spread for name, spread in point.values.items() if not name.startswith(OWN) or name in kept}
    return Point(point.at, values)


def _kept(name: str, rank: int, known: set[str]) -> bool:
    """Whether a number of the job's own is kept; its name is known then."""
    if rank >= MOST_RANKS:
        return False
    if name not in known and len(known) < MAX_JOB_NUMBERS:
        known.add(name)
    return name in known
