"""Whether the database is older than the runs on the cluster, and what follows if it is (decision 0016).

The cluster keeps a mark of how far each database has come. A database that is behind its own mark was restored, or has
lost its last writes; one that the cluster has no mark of, beside other databases', is new. Either begins an epoch in
which no id is given that may have been given before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.marks import LostPast, Mark
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import Event
from hai_scheduler.service.shared.changes import SCHEDULER

log = logging.getLogger(__name__)

#: Ids that were accepted and never reached the mark lie within this of it: a tick tells the cluster of all others.
_MARGIN: Final = 500
#: The first id of an epoch is one more than a multiple of this: an epoch is seen from its ids.
_ROUND: Final = 1000


def is_behind(own: Mark, marks: Iterable[Mark], *, strangers: bool) -> bool:
    """Whether the cluster knows of something that the database does not.

    Args:
        own: The database's own mark.
        marks: Those that the cluster keeps.
        strangers: Whether the cluster shows runs that the database does not know; they count where there is no mark of
            the database, as after an upgrade.
    """
    marks = list(marks)
    mine = next((mark for mark in marks if mark.database == own.database), None)
    return own.behind(mine) if mine is not None else bool(marks) or strangers


async def begin_epoch(tx: Tx, marks: Sequence[Mark], observed: Iterable[RunId], now: datetime) -> Mark:
    """Leave behind all ids that are known to anybody, those of runs that are observed among them; the new mark."""
    own = await tx.mark()
    every, runs = [own, *marks], [parts_of(run_id) for run_id in observed]
    task = max([mark.task for mark in every] + [task for task, _ in runs])
    number = max([mark.number for mark in every] + [number for _, number in runs])
    epoch = 1 + max(mark.epoch for mark in every)
    after = (task + _MARGIN + _ROUND - 1) // _ROUND * _ROUND
    steps = max(mark.steps for mark in every if mark.database == own.database)
    past = LostPast(first_task=after + 1, above=number)
    await tx.begin_epoch(epoch, steps=steps, after_task=after, past=past)
    data = {"database": own.database, "epoch": epoch, "before": own.epoch, "first_task": after + 1, "above": number}
    await tx.add_event(Event(at=now, kind=EventKind.DATABASE_EPOCH, actor=SCHEDULER, data=data))
    log.warning(
        "the database is older than the runs on the cluster, or is another one: epoch %d of database %s begins; new "
        "tasks have ids from %d on, new runs of older tasks have numbers from %d on",
        epoch,
        own.database,
        after + 1,
        number + 1,
    )
    return await tx.mark()


def parts_of(run_id: RunId) -> tuple[int, int]:
    """Task id and number of a run."""
    task, _, number = run_id.partition(".")
    return int(task), int(number)
