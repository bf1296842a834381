"""Writes runs into the ledger, in the transaction that begins or ends them, and again while they live."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from hai_scheduler.core.ledger.cutting import GpuUse, facts_of, rows_of
from hai_scheduler.core.ledger.kinds import kind_of
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.ledger.slowdown import slowdown_of
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.store.transaction import Tx

#: The setting with the GPUs of a node, by node group, as the loop has last seen them.
_GPUS: Final = "ledger_gpus"


class Booking(NamedTuple):
    """A run to be written."""

    #: Its task as it was when the run began: it says who it is, and since when it had waited.
    task: Task
    run: Run
    #: The slowdown of the task, if it has ended by itself with this run (`core.ledger.slowdown`).
    slowdown: int | None = None


def booking_of(before: Task, after: Task) -> Booking | None:
    """Return what a change of a task means for the ledger: a run that begins or ends; None if none does."""
    run = after.run
    if run is None:
        return None
    if before.run is None or before.run.id != run.id:
        return Booking(after, run)
    return Booking(before, run, slowdown_of(after)) if before.run.live and not run.live else None


async def book(tx: Tx, bookings: Sequence[Booking], *, until: datetime) -> None:
    """Write all rows of these runs, which replace the earlier ones. To do it again changes nothing.

    What is known of a run when its first row is written stays: its user's groups at that time, for example.

    Args:
        tx: The transaction.
        bookings: The runs. Of two bookings of one run, the last one counts.
        until: Until when runs are counted that have not ended.
    """
    if not bookings:
        return
    known = await tx.ledger.of_runs({each.run.id for each in bookings})
    fresh = {each.task.id for each in bookings if each.run.id not in known}
    stored = await tx.tasks.with_specs(fresh) if fresh else {}
    groups = {user.name: user.groups for user in await tx.users.all()} if fresh else {}
    gpus = await gpus_of(tx) if fresh else {}
    rows: dict[RunId, Sequence[LedgerRow]] = {}
    for task, run, slowdown in bookings:
        if run.id in known:
            facts = known[run.id][0].facts
        else:
            kind = kind_of(task, stored[task.id][1])
            facts = facts_of(task, run, kind=kind, groups=groups.get(task.user, frozenset()), gpus=gpus)
        rows[run.id] = rows_of(facts, run, until, use=_gpu_use(run), slowdown=slowdown)
    await tx.ledger.put(rows)


def _gpu_use(run: Run) -> GpuUse:
    """Return what its ranks have measured, which is known when the run has ended."""
    summary = run.summary
    if summary is None or not summary.gpus:
        return GpuUse()
    return GpuUse(idle=timedelta(seconds=summary.gpu_idle_seconds), energy_j=round(summary.joules))


async def gpus_of(tx: Tx) -> Mapping[str, int]:
    """Return the GPUs of a node, by node group, as far as they were ever seen."""
    text = await tx.settings.get(_GPUS)
    return {} if text is None else {str(group): int(gpus) for group, gpus in json.loads(text).items()}


async def keep_gpus(tx: Tx, seen: Mapping[str, int]) -> None:
    """Remember the GPUs of nodes: a run may be written by what does not see the cluster."""
    known = await gpus_of(tx)
    if any(known.get(group) != gpus for group, gpus in seen.items()):
        await tx.settings.put(_GPUS, json.dumps({**known, **seen}, sort_keys=True))
