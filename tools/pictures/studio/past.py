"""Writes two weeks of the laboratory into a new database, as a platform that was stopped has left them.

The simulator plays the weeks with the scheduler's own core. At their end everything is told to leave and saves, as when
`hai up` is interrupted; the real platform goes on from there.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from hai_scheduler.core.costs.capacity import capacities
from hai_scheduler.core.ledger.slowdown import slowdown_of
from hai_scheduler.core.metrics.series import WINDOW_S, Point, Spread
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.usage_summary import UsageLevel, UsageSummary
from hai_scheduler.ports.values import UserRecord, UserVisit
from hai_scheduler.service.shared.booking import Booking, book, keep_gpus
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.records import Records
from hai_scheduler.sim.scenario import Manner, Setting, SimulatedJob
from hai_scheduler.store.store import SqlStore, open_store
from pictures.studio.lab import ADMIN, GONE, GPUS, LOOKER, NODE_GROUPS, PEOPLE, jobs, nodes, spec_of

DAYS: Final = 14
#: How long before the present the past ends.
STOPPED: Final = timedelta(minutes=3)
#: The most recent time whose metrics are written.
MEASURED: Final = timedelta(hours=6)
#: How many moments pass at most until everything has saved.
_MOST_MOMENTS: Final = 10_000
_BOOKED_AT_ONCE: Final = 500


@dataclass(slots=True)
class RunsTaken(Records):
    """Also keeps each task as it was when a run of it had ended."""

    ended: list[Task] = field(default_factory=list)

    def run_over(self, task: Task, run: Run, **rest: Any) -> None:
        """Take the task down."""
        self.ended.append(task)


@dataclass(frozen=True, slots=True)
class Past:
    """What has happened until then."""

    until: datetime
    #: Every task as it was submitted, in the order of their ids.
    submitted: Sequence[Task]
    #: By id, each task after each of its runs, and as it is at the end.
    states: Mapping[int, Sequence[Task]]


def play(begin: datetime, end: datetime) -> Past:
    """Let the simulator play the time, and have everything leave at its end."""
    work = jobs(begin, end)
    taken = RunsTaken()
    engine = Engine(Setting(nodes=nodes(), start_takes=timedelta(seconds=20), tick=timedelta(seconds=20)), begin,
                    jobs=work, records=taken)  # fmt: skip
    while engine.now < end and engine.step():
        pass
    left = _stopped(engine)
    states: defaultdict[int, list[Task]] = defaultdict(list)
    for task in [*taken.ended, *left]:
        states[task.id].append(task)
    submitted = [job.task for job in work]
    return Past(until=engine.now, submitted=submitted, states=states)


def _stopped(engine: Engine) -> list[Task]:
    """Have every run save and leave; returns all tasks that have not ended."""
    snapshot = replace(engine.snapshot(), paused=True, pause_grace=timedelta(seconds=25))
    saving = timedelta(seconds=8)
    each = [SimulatedJob(task=task, work=None, manner=Manner.CATCHES, saves_in=saving) for task in snapshot.tasks]
    leaving = Engine.of_snapshot(snapshot, Policy(), jobs=each)
    for _ in range(_MOST_MOMENTS):
        if all(task.live_run is None for task in leaving.tasks.values()):
            return list(leaving.tasks.values())
        leaving.step()
    raise RuntimeError("some task does not leave")


async def write(url: str, folder: str, now: datetime, *, days: int = DAYS) -> None:
    """Write the past into the new database at `url`.

    Args:
        url: Of the database.
        folder: Where tasks start.
        now: Shortly after the end of the past.
        days: How many of them have passed.
    """
    begin = (now - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
    past = play(begin, (now - STOPPED).replace(microsecond=0))
    store = await open_store(url)
    try:
        await _write_people(store, past.until)
        await _write_tasks(store, past, folder)
        await _write_nodes(store, begin, past.until)
        await _write_series(store, past)
    finally:
        await store.close()


async def _write_people(store: SqlStore, until: datetime) -> None:
    chance = random.Random(3)
    async with store.write() as tx:
        await keep_gpus(tx, dict.fromkeys(NODE_GROUPS, GPUS))
        for name, group in (PEOPLE | {ADMIN: "platform", GONE: "vision"}).items():
            await tx.users.put(UserRecord(name=name, groups=frozenset({group})))
            seen = until - timedelta(hours=chance.uniform(0.2, 30) if name != GONE else 150)
            await tx.users.put_visit(UserVisit(name=name, seen_at=seen, admin_at=seen if name == ADMIN else None))


async def _write_tasks(store: SqlStore, past: Past, folder: str) -> None:
    bookings: list[Booking] = []
    async with store.write() as tx:
        for task in past.submitted:
            since = task.submitted_at
            stored = await tx.tasks.add(task, spec_of(task, folder))
            if stored.id != task.id:
                raise RuntimeError(f"task {task.id} became {stored.id}: the database is not new")
            for state in past.states.get(task.id, ()):
                after = replace(state, version=stored.version)
                if after.run is not None:
                    run = replace(after.run, summary=_summary(after.run, after))
                    after = replace(after, run=run)
                    bookings.append(Booking(replace(after, waiting_since=since), run, slowdown_of(after)))
                    since = run.ended_at or run.started_at
                if after.state is not TaskState.QUEUED:
                    stored = await tx.tasks.save(after)
        for begin in range(0, len(bookings), _BOOKED_AT_ONCE):
            await book(tx, bookings[begin : begin + _BOOKED_AT_ONCE], until=past.until)


def _summary(run: Run, task: Task) -> UsageSummary:
    """Return what the GPUs of a run did."""
    chance = random.Random(run.id)
    seconds = (run.ended_at - run.started_at).total_seconds() if run.ended_at else 0.0
    gpus = (task.gpus or GPUS) * len(run.ranks)
    use, watts = chance.uniform(82, 97), chance.uniform(480, 640)
    return UsageSummary(
        seconds=seconds * len(run.ranks),
        cpu=UsageLevel(chance.uniform(6, 14), 22.0),
        memory=UsageLevel(180e9, 240e9),
        gpus=gpus,
        gpu_seconds=seconds * gpus,
        gpu_idle_seconds=seconds * gpus * chance.uniform(0.01, 0.08),
        gpu_use=UsageLevel(use, 100.0),
        gpu_memory=UsageLevel(66e9, 74e9),
        gpu_power=UsageLevel(watts, 690.0),
        joules=seconds * gpus * watts,
    )


async def _write_nodes(store: SqlStore, begin: datetime, until: datetime) -> None:
    """Write how much node time there was, up to the end."""
    async with store.write() as tx:
        at = begin
        while at < until:
            after = min(at + timedelta(hours=6), until)
            for part in capacities(nodes(), at, after):
                await tx.capacity.add(part)
            at = after


async def _write_series(store: SqlStore, past: Past) -> None:
    """Write the metrics of the latest runs of the user whose tasks the pictures look at."""
    since = past.until - MEASURED
    mine = [task for task in past.submitted if task.user == LOOKER and task.id in past.states]
    for task in mine:
        before = 0.0
        for state in past.states[task.id]:
            run = state.run
            if run is None or run.ended_at is None or run.running_at is None or run.ended_at < since:
                continue
            begin, end = max(run.running_at, since), run.ended_at
            for rank in run.ranks:
                points = list(_points(begin, end, seed=task.id + rank.rank, before=before))
                await store.series.append(run.id, rank.rank, points)
            before += (end - begin).total_seconds()


def _points(begin: datetime, end: datetime, *, seed: int, before: float) -> Iterator[Point]:
    """Yield points of a rank that trains: a step of its own rhythm, and a checkpoint every quarter of an hour.

    Args:
        begin: From when on.
        end: Until when.
        seed: Ranks with different ones differ.
        before: How long the task has trained before, seconds.
    """
    chance = random.Random(seed)
    first = int(begin.timestamp()) // WINDOW_S * WINDOW_S + WINDOW_S
    for at in range(first, int(end.timestamp()), WINDOW_S):
        saving = at % 900 < 30
        wave = math.sin(at / 140 + seed)

        def spread(mean: float, width: float) -> Spread:
            middle = max(0.0, mean + chance.gauss(0, width / 3))
            return Spread(round(max(0.0, middle - width), 3), round(middle, 3), round(middle + width, 3))

        use = 12 if saving else 93 + 2 * wave
        values = {
            "cpu": spread(9 + wave, 0.8),
            "memory": spread(196e9 + 4e9 * wave, 1e9),
            "disk_read": spread(3.1e8 + 6e7 * wave, 5e7),
            "disk_written": spread(2.4e9 if saving else 4e6, 1e6),
            "net_received": spread(4e6, 1e6),
            "net_sent": spread(3e6, 1e6),
            "ib_received": spread(1e9 if saving else 3.9e10 + 2e9 * wave, 1e9),
            "ib_sent": spread(1e9 if saving else 3.9e10 + 2e9 * wave, 1e9),
            "job_loss": spread(2.05 + 1.6 * math.exp(-(before + at - first) / 5000), 0.02),
        }
        for gpu in range(GPUS):
            own = f"gpu{gpu}_"
            mean = use + (gpu - 4) * 0.3
            values |= {
                own + "use": Spread(max(0.0, mean - 4), min(99.0, mean), min(100.0, mean + 4)),
                own + "memory": spread(69e9 + gpu * 2e8, 1e8),
                own + "power": spread(130 if saving else 610 + 18 * wave + 3 * gpu, 12),
            }
        yield Point(at, values)
