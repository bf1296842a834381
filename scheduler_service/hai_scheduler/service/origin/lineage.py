"""Finds out whether the database is older than the runs on the cluster, and begins a new epoch if so (decision 0016).

The cluster keeps a mark of each database: how many starts and ends of runs it has recorded. A database behind its own
mark was restored, or has lost its last writes. A database without a mark, beside marks of others, is new. Both begin
an epoch in which no earlier id is used again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.marks import LostPast, Mark
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.changes import SCHEDULER
from hai_scheduler.store.transaction import Tx

log = logging.getLogger(__name__)

#: How far ids can be ahead of the mark: tasks that were submitted after the last tick are not in it.
_MARGIN: Final = 500
#: The first id of an epoch is one more than a multiple of this, so that ids show their epoch.
_ROUND: Final = 1000


def is_behind(own: Mark, marks: Iterable[Mark], *, strangers: bool) -> bool:
    """True if the cluster knows of runs or marks that the database does not know.

    Args:
        own: The database's own mark.
        marks: The marks of the cluster.
        strangers: Whether the cluster shows runs that the database does not know; they count only if the cluster has
            no mark of the database, as after an upgrade.
    """
    marks = list(marks)
    mine = next((mark for mark in marks if mark.database == own.database), None)
    return own.behind(mine) if mine is not None else bool(marks) or strangers


async def begin_epoch(tx: Tx, marks: Sequence[Mark], observed: Iterable[RunId], now: datetime) -> Mark:
    """Begin an epoch whose ids are greater than those of all marks and observed runs; returns the new mark."""
    own = await tx.database.mark()
    every, runs = [own, *marks], [parts_of(run_id) for run_id in observed]
    task = max([mark.task for mark in every] + [task for task, _ in runs])
    number = max([mark.number for mark in every] + [number for _, number in runs])
    epoch = 1 + max(mark.epoch for mark in every)
    after = (task + _MARGIN + _ROUND - 1) // _ROUND * _ROUND
    steps = max(mark.steps for mark in every if mark.database == own.database)
    past = LostPast(first_task=after + 1, above=number)
    await tx.database.begin_epoch(epoch, steps=steps, after_task=after, past=past)
    data = {"database": own.database, "epoch": epoch, "before": own.epoch, "first_task": after + 1, "above": number}
    await tx.events.add(HistoryEvent(at=now, kind=EventKind.DATABASE_EPOCH, actor=SCHEDULER, data=data))
    log.warning(
        "the database is older than the runs on the cluster, or is another one: epoch %d of database %s begins; new "
        "tasks have ids from %d on, new runs of older tasks have numbers from %d on",
        epoch,
        own.database,
        after + 1,
        number + 1,
    )
    return await tx.database.mark()


def parts_of(run_id: RunId) -> tuple[int, int]:
    """The task id and the number of a run."""
    task, _, number = run_id.partition(".")
    return int(task), int(number)
