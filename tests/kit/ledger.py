"""Rows of the ledger for tests: runs by a few numbers, and what is true of any ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from hai_scheduler.core.ledger.asking import LedgerQuestion
from hai_scheduler.core.ledger.cutting import GpuUse, facts_of, rows_of
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.periods import Period, begin_of, end_of
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.ledger.sums import Sums, by_hour, total
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.store.store import Store
from kit.builders import T0, a_run, a_task

#: GPUs of the nodes of `training`, as `a_node` has them.
GPUS = {"training": 8}


def rows_for(
    run: Run,
    *,
    task: Task | None = None,
    groups: Iterable[str] = (),
    kind: WorkKind = WorkKind.TASK,
    until: datetime = T0,
    use: GpuUse | None = None,
) -> tuple[LedgerRow, ...]:
    """The rows of a run, of `task` or of a task of alice."""
    task = task or a_task(int(run.id.split(".")[0]), submitted_at=run.started_at, nodes=len(run.ranks))
    facts = facts_of(task, run, kind=kind, groups=frozenset(groups), gpus=GPUS)
    return rows_of(facts, run, until, use=use or GpuUse())


def ended_rows(
    number: int = 1, *, hours: float, since: datetime = T0, user: str = "alice", groups: Iterable[str] = (), **run: Any
) -> tuple[LedgerRow, ...]:
    """The rows of the only run of task `number`, which has ended after that number of hours."""
    ended = a_run(number, started_at=since, ended_at=since + timedelta(hours=hours), **run)
    return rows_for(ended, task=a_task(number, user=user, submitted_at=since), groups=groups)


def all_time(rows: Iterable[LedgerRow], **fields: Any) -> LedgerQuestion:
    """A question for the whole time of the rows."""
    rows = list(rows)
    since = min(row.started_at for row in rows)
    until = max(row.ended_at for row in rows)
    return LedgerQuestion(since=begin_of(Period.MONTH, since), until=end_of(Period.MONTH, until), **fields)


def sums_of_rows(rows: Sequence[LedgerRow]) -> Sums:
    """The sums of all hours of the rows."""
    return total(share for row in rows for share in by_hour(row).values())


async def check_ledger(store: Store) -> int:
    """Check that each stored run is in the ledger once and whole, and that the sums are those of the rows.

    Returns:
        How many runs there are.
    """
    async with store.read() as tx:
        runs = [
            run
            for task in await tx.tasks.page(TaskFilter(), before=None, limit=100_000)
            for run in await tx.runs.of_task(task.id)
        ]
        rows = await tx.ledger.of_runs({run.id for run in runs})
        everything = [row for some in rows.values() for row in some]
        lines = await tx.ledger.sums(all_time(everything)) if everything else []
    for run in runs:
        check_run(run, rows[run.id])
    assert total(line.sums for line in lines) == sums_of_rows(everything)
    return len(runs)


def check_run(run: Run, rows: Sequence[LedgerRow]) -> None:
    """Check that the rows of a run follow each other, and that together they are the run."""
    assert [row.part for row in rows] == list(range(1, len(rows) + 1))
    for row, after in pairwise(rows):
        assert row.ended_at == after.started_at == begin_of(Period.DAY, after.started_at)
    for row in rows:
        assert row.starting + row.useful + row.saving + row.lost == row.length
        assert all(span >= timedelta(0) for span in (row.starting, row.useful, row.saving, row.lost))
    assert [row.last for row in rows] == [False] * (len(rows) - 1) + [run.ended_at is not None]
    sums, nodes = sums_of_rows(rows), len(run.ranks)
    assert (sums.starts, sums.ends) == (1, int(run.ended_at is not None))
    if run.ended_at is not None:
        assert rows[0].started_at == run.started_at
        length = max(timedelta(0), run.ended_at - run.started_at)
        assert sum((row.length for row in rows), timedelta(0)) == length
        lost = sum((row.lost for row in rows), timedelta(0))
        assert lost * nodes == (run.lost or timedelta(0))
        if not rows[0].facts.node_gpus:
            assert sums.node_us == length * nodes // timedelta(microseconds=1)
