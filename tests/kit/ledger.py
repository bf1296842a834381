"""Rows of the ledger for tests: runs by a few numbers, and what is true of any ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from hai_scheduler.core.ledger.asking import LedgerQuestion
from hai_scheduler.core.ledger.cutting import GpuUse, facts_of, rows_of
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.periods import Period, begin_of, end_of
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.ledger.sums import Sums, by_hour, total
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
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
    """The rows of the only run of task `number`, which has ended after so many hours."""
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
