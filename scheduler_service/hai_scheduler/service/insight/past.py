"""The tasks of the last days, read for a trial of policy numbers: what they asked for, and how long they worked."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.service.accounting.standings import users_over
from hai_scheduler.service.scheduling.ledger_keeping import COUNTED
from hai_scheduler.service.shared.orders import TrialOrder
from hai_scheduler.store.store import Store
from hai_scheduler.store.transaction import Tx

#: Rows of the ledger, and tasks, that are read at once.
PIECE: Final = 1000
#: The most rows of the ledger that are read.
MOST_ROWS: Final = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What happened, as far as it is stored."""

    #: Every task that was there at any time since then, by id.
    tasks: Sequence[Task]
    #: Whether there were more tasks than may be read, or more rows of the ledger.
    too_many: bool
    #: By task, how long its runs did useful work in that time, until `counted` for runs that go on.
    worked: Mapping[TaskId, timedelta]
    #: Until when the ledger has counted runs that go on.
    counted: datetime | None
    #: How long starts took, each run's.
    starts: Sequence[timedelta]
    #: How long the first run of each task had been waited for.
    first_waits: Mapping[TaskId, timedelta]
    #: Turns that began, and interruptions.
    turns: int
    interruptions: int
    #: Node time that runs held, and the useful part of it, in seconds.
    held_s: float
    useful_s: float
    #: Node time that there was, in seconds; None: it was not recorded all the time.
    capacity_s: float | None
    quotas: Sequence[Quota] = ()
    groups_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    counted_low: frozenset[str] = frozenset()


async def read_past(store: Store, order: TrialOrder) -> Past:
    """Read what a trial needs, in pieces, so that other orders go on in between. Raises Temporary."""
    tasks, too_many = await _tasks(store, order)
    sums = _Sums()
    after: tuple[datetime, RunId] | None = None
    read = 0
    while not too_many:
        async with store.read() as tx:
            rows = await tx.ledger.between(order.since, order.now, after=after, limit=PIECE)
        for row in rows:
            sums.add(row)
        read += len(rows)
        if len(rows) < PIECE:
            break
        if read >= MOST_ROWS:
            too_many = True
        after = rows[-1].started_at, rows[-1].facts.run_id
        await asyncio.sleep(0)
    async with store.read() as tx:
        counted = await tx.settings.get(COUNTED)
        users = await tx.users.all()
        return Past(
            tasks=tasks,
            too_many=too_many,
            worked=sums.worked,
            counted=None if counted is None else datetime.fromisoformat(counted),
            starts=sums.starts,
            first_waits=sums.first_waits,
            turns=sums.turns,
            interruptions=sums.interruptions,
            held_s=sums.held_s,
            useful_s=sums.useful_s,
            capacity_s=await _capacity(tx, order),
            quotas=tuple(await tx.quotas.all()),
            groups_of={user.name: user.groups for user in users},
            counted_low=await users_over(tx, users),
        )


async def _tasks(store: Store, order: TrialOrder) -> tuple[Sequence[Task], bool]:
    """The tasks that were there since then, and whether there are more than may be read."""
    where = TaskFilter(ended_since=order.since)
    async with store.read() as tx:
        found = {task.id: task for task in await tx.tasks.unfinished()}
    before: TaskId | None = None
    while len(found) <= order.most_tasks:
        async with store.read() as tx:
            part = await tx.tasks.page(where, before=before, limit=PIECE)
        found.update((task.id, task) for task in part)
        if len(part) < PIECE:
            break
        before = part[-1].id
        await asyncio.sleep(0)
    return [found[task_id] for task_id in sorted(found)], len(found) > order.most_tasks


@dataclass(slots=True)
class _Sums:
    """The sums over rows of the ledger."""

    worked: defaultdict[TaskId, timedelta] = field(default_factory=lambda: defaultdict(timedelta))
    starts: list[timedelta] = field(default_factory=list)
    first_waits: dict[TaskId, timedelta] = field(default_factory=dict)
    turns: int = 0
    interruptions: int = 0
    held_s: float = 0.0
    useful_s: float = 0.0

    def add(self, row: LedgerRow) -> None:
        facts = row.facts
        self.worked[facts.task_id] += row.useful
        share = facts.nodes * (facts.gpus / facts.nodes / facts.node_gpus if facts.node_gpus else 1.0)
        self.held_s += row.length.total_seconds() * share
        self.useful_s += row.useful.total_seconds() * share
        if row.part == 1:
            self.turns += 1
            if row.useful:
                self.starts.append(row.starting)
            if facts.number == 1:
                self.first_waits[facts.task_id] = facts.wait
        if row.last and row.outcome is not None and row.outcome.value in ("interrupted", "broken"):
            self.interruptions += 1


async def _capacity(tx: Tx, order: TrialOrder) -> float | None:
    first = await tx.capacity.first()
    if first is None or first > order.since:
        return None
    return sum(part.node_us for part in await tx.capacity.between(order.since, order.now)) / 1e6
