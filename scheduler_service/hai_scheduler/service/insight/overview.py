"""The cluster now and over the last day, in one answer that is the same for all readers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.ledger.asking import By, LedgerQuestion
from hai_scheduler.core.ledger.going_on import sums_of_live
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.sums import Sums
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.ordering.usage import share_of
from hai_scheduler.ports.store import Tx
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.service.insight.queries import ClusterView, Queries
from hai_scheduler.service.scheduling.ledger_keeping import COUNTED
from hai_scheduler.service.scheduling.unfinished import LiveTasks
from hai_scheduler.service.shared.world import UseCase

#: Hours of the series, and the time of the counts of submissions and ends.
HOURS: Final = 24
RECENT: Final = timedelta(hours=3)
#: How old an answer may be, in seconds: many pages ask after each event.
FRESH_S: Final = 1.0
#: How old the hours and the counts may be, in seconds: they change slowly, and take longer.
HOURS_FRESH_S: Final = 15.0
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class UseNow:
    """What the nodes do now, in nodes; k GPUs of a node count k / GPUs-of-the-node."""

    nodes: int
    #: Nodes that runs hold: the sum of the four below.
    held: float
    #: Runs whose ranks are not all up, that compute, whose GPUs are idle (I1), and that were told to leave.
    starting: float
    useful: float
    idle: float
    leaving: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HourOfUse:
    """What the nodes did in one hour."""

    hour: datetime
    sums: Sums
    #: How much node time there was; None: it was not recorded.
    capacity: NodeTime | None
    #: Up to when it is counted: the end of the hour but for the present one.
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The cluster now and over the last day."""

    at: datetime
    #: The seq of the last event before: who follows the feed from there misses nothing.
    seq: int
    cluster: ClusterView
    now: UseNow
    #: The oldest first; the last one goes on.
    hours: Sequence[HourOfUse]
    #: Tasks of the last `RECENT`: how many were submitted, and how many ended in each state.
    submitted: int
    ended: Mapping[TaskState, int]


@dataclass(frozen=True, slots=True)
class _Slow:
    """The parts that are read less often."""

    hours: Sequence[HourOfUse]
    submitted: int
    ended: Mapping[TaskState, int]


@dataclass(slots=True, eq=False)
class Overviews(UseCase):
    """The use case. All readers share an answer for a moment."""

    queries: Queries
    _live: LiveTasks = field(default_factory=LiveTasks)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: The last answer and its slow parts, each with when it was found, by `Clock.steady`.
    _last: tuple[float, Overview] | None = None
    _slow: tuple[float, _Slow] | None = None

    async def look(self) -> Overview:
        """The cluster now and over the last day. Raises Temporary."""
        async with self._lock:
            if self._last is None or self.clock.steady() - self._last[0] >= FRESH_S:
                found = await self._look()
                self._last = self.clock.steady(), found
            return self._last[1]

    async def _look(self) -> Overview:
        # Events after this one may be in the answer, and are then told twice; none is missed.
        async with self.store.read() as tx:
            seq = await tx.events.last_seq()
        cluster = await self.queries.whole_cluster()
        now = self.clock.now()
        async with self.store.read() as tx:
            live = self._live.of(await tx.tasks.unfinished())
        if self._slow is None or self.clock.steady() - self._slow[0] >= HOURS_FRESH_S:
            slow = await self._look_back(live, now)
            self._slow = self.clock.steady(), slow
        back = self._slow[1]
        return Overview(
            at=now,
            seq=seq,
            cluster=cluster,
            now=self._now(live, sum(group.nodes for group in cluster.groups)),
            hours=back.hours,
            submitted=back.submitted,
            ended=back.ended,
        )

    def _now(self, live: Sequence[Task], nodes: int) -> UseNow:
        found: defaultdict[str, float] = defaultdict(float)
        for run, share in self._held(live):
            found[_word_of(run)] += share
        return UseNow(
            nodes=nodes,
            held=sum(found.values()),
            starting=found["starting"],
            useful=found["useful"],
            idle=found["idle"],
            leaving=found["leaving"],
        )

    def _held(self, live: Sequence[Task]) -> list[tuple[Run, float]]:
        widths = {group: self.latest_plan.gpus_per_node(group) for group in {task.group for task in live}}
        return [(run, share_of(task, widths[task.group])) for task in live if (run := task.live_run) is not None]

    async def _look_back(self, live: Sequence[Task], now: datetime) -> _Slow:
        hour = begin_of(Period.HOUR, now)
        since = hour - HOURS * _HOUR
        question = LedgerQuestion(since=since, until=hour + _HOUR, by=(By.HOUR,), waits=False)
        async with self.store.read() as tx:
            sums = {line.values[0]: line.sums for line in await tx.ledger.sums(question)}
            capacity = await tx.capacity.between(since, hour + _HOUR)
            first, last = await tx.capacity.first(), await tx.capacity.last()
            counted = await _counted(tx, hour - _HOUR)
            submitted, ended = await _recent(tx, now - RECENT)
        # Node time is noted once a minute: what runs took is compared up to the same moment.
        until = now if last is None else min(max(last, hour), now)
        going_on = sums_of_live(self._held(live), max(counted, since), until)
        by_hour: defaultdict[datetime, list[NodeTime]] = defaultdict(list)
        for part in capacity:
            by_hour[part.hour].append(part)
        hours = []
        for number in range(HOURS + 1):
            begin = since + number * _HOUR
            known = first is not None and first <= begin
            hours.append(
                HourOfUse(
                    hour=begin,
                    sums=sums.get(begin, Sums()) + going_on.get(begin, Sums()),
                    capacity=_together(by_hour[begin]) if known else None,
                    until=min(begin + _HOUR, until),
                )
            )
        return _Slow(hours, submitted, ended)


def _word_of(run: Run) -> str:
    if run.notice is not None or run.killed_at is not None:
        return "leaving"
    if run.running_at is None:
        return "starting"
    return "useful" if run.idle_gpus_since is None else "idle"


def _together(parts: Sequence[NodeTime]) -> NodeTime | None:
    whole: NodeTime | None = None
    for part in parts:
        whole = part.plus(whole)
    return whole


async def _counted(tx: Tx, default: datetime) -> datetime:
    """The hour until which the ledger has counted runs that go on."""
    text = await tx.settings.get(COUNTED)
    return default if text is None else datetime.fromisoformat(text)


async def _recent(tx: Tx, since: datetime) -> tuple[int, Mapping[TaskState, int]]:
    ended = {}
    for state in (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED):
        ended[state] = await tx.tasks.count(TaskFilter(states=frozenset({state}), ended_since=since))
    return await tx.tasks.count(TaskFilter(submitted_since=since)), ended
