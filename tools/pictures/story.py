"""From a small scenario to what its picture shows: the simulator's engine plays it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from typing import TypeVar

from hai_scheduler.core.capacity.reservation import Reservation
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.order import level_at
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.records import Records, RunRecord
from hai_scheduler.sim.scenario import Setting, SimulatedJob
from pictures.chart import Chart, Kept, Leave, Span, Wait

_TOLD = (Reason.TURN_OVER, Reason.PREEMPTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A small scenario that shows some rules."""

    #: Of its files.
    name: str
    title: str
    setting: Setting
    policy: Policy
    jobs: Sequence[SimulatedJob]
    #: The rows of the lower part: what is written there, and the tasks in them.
    rows: Mapping[str, Sequence[str]]
    #: Where the picture ends.
    until: timedelta
    #: Whether what is kept for the head of the NORMAL queue is drawn.
    reservations: bool = False
    #: Whether deadlines of notices are drawn.
    deadlines: bool = False


@dataclass(frozen=True, slots=True)
class _Head:
    """What a plan kept for the head of the queue, from then on."""

    at: datetime
    kept: Reservation | None


def chart_of(story: Story) -> Chart:
    """Let the engine play the story, and take down what it does."""
    return _Teller(story).chart()


class _Teller:
    def __init__(self, story: Story) -> None:
        self._story = story
        self._begin = min(job.task.submitted_at for job in story.jobs)
        self._row_of = {name: row for row, names in story.rows.items() for name in names}
        self._until = story.until.total_seconds()
        self._spans: list[Span] = []
        self._waits: list[Wait] = []
        self._leaves: list[Leave] = []

    def chart(self) -> Chart:
        records, heads = _play(self._story, self._begin)
        for job in self._story.jobs:
            runs = [run for run in records.runs if run.task_id == job.task.id]
            self._tell(job.task, sorted(runs, key=lambda run: run.number))
        return Chart(
            title=self._story.title,
            nodes=tuple(node.name for node in self._story.setting.nodes),
            rows=tuple(self._story.rows),
            until=self._until,
            spans=self._cut(self._spans),
            waits=self._cut(self._waits),
            leaves=tuple(one for one in self._leaves if one.end <= self._until),
            kept=self._cut(list(self._kept(heads))) if self._story.reservations else (),
            deadlines=self._story.deadlines,
        )

    def _tell(self, task: Task, runs: Sequence[RunRecord]) -> None:
        """Waits, runs and notices of one task."""
        row, policy = self._row_of[task.name], self._story.policy
        served, since = timedelta(0), task.submitted_at
        for run in runs:
            late = since + policy.starve_after
            starving = self._after(late) if served >= policy.slice and late < run.started_at else None
            if run.started_at > since:
                waited = Wait(row=row, begin=self._after(since), end=self._after(run.started_at), starving=starving)
                self._waits.append(waited)
            for kind, first, last in _phases(run):
                for level, low, high in _levels(served, first, last, run, policy):
                    self._spans.append(
                        Span(task=task.name, row=row, nodes=run.nodes, kind=kind, level=level,
                             begin=self._after(low), end=self._after(high))
                    )  # fmt: skip
            if run.reason in _TOLD and run.kept_until is not None:
                self._leaves.append(
                    Leave(row=row, nodes=run.nodes, notice=self._after(run.kept_until), end=self._after(run.ended_at),
                          deadline=self._after(run.kept_until + task.grace), reason=str(run.reason))
                )  # fmt: skip
            served += run.ended_at - (run.up or run.ended_at)
            since = run.ended_at

    def _kept(self, heads: Sequence[_Head]) -> Iterator[Kept]:
        """Stretches in which the same nodes were kept for the same task."""
        ends = [*(head.at for head in heads[1:]), heads[-1].at]
        stretches = groupby(zip(heads, ends, strict=True), key=lambda pair: _wish(pair[0]))
        for wish, pairs in stretches:
            if wish is None:
                continue
            name, nodes, at = wish
            (first, _), *_, (_, end) = [*(found := list(pairs)), found[-1]]
            yield Kept(row=self._row_of[name], nodes=nodes, begin=self._after(first.at), end=self._after(end),
                       promised=self._after(at))  # fmt: skip

    def _after(self, at: datetime) -> float:
        return round((at - self._begin).total_seconds(), 3)

    def _cut(self, found: list[_Stretch]) -> tuple[_Stretch, ...]:
        """What lies in the picture."""
        inside = [replace(one, end=min(one.end, self._until)) for one in found if one.begin < self._until]
        return tuple(sorted(inside, key=lambda one: (one.begin, one.row)))


_Stretch = TypeVar("_Stretch", Span, Wait, Kept)


def _play(story: Story, begin: datetime) -> tuple[Records, list[_Head]]:
    """Play it to its end; what each plan kept for the head of the NORMAL queue is taken down too."""
    records, heads = Records(), []
    engine = Engine(story.setting, begin, jobs=story.jobs, records=records)
    plans = 0
    while engine.step():
        if engine.plans > plans and engine.last_plan is not None:
            plans = engine.plans
            (answers,) = engine.last_plan.verdicts.groups
            heads.append(_Head(engine.now, answers.reservations.get(Priority.NORMAL)))
    return records, heads


def _wish(head: _Head) -> tuple[str, tuple[str, ...], datetime] | None:
    if head.kept is None:
        return None
    return head.kept.task.name, tuple(sorted(head.kept.nodes)), head.kept.at


def _phases(run: RunRecord) -> Iterator[tuple[str, datetime, datetime]]:
    """Starting, working, saving, as far as there were any."""
    up = run.up or run.ended_at
    told = run.kept_until if run.reason in _TOLD and run.kept_until is not None else run.ended_at
    for kind, first, last in (("start", run.started_at, up), ("work", up, told), ("save", told, run.ended_at)):
        if last > first:
            yield kind, first, last


def _levels(
    served: timedelta, first: datetime, last: datetime, run: RunRecord, policy: Policy
) -> Iterator[tuple[int, datetime, datetime]]:
    """The stretch, cut where the task's service takes it to another level (O2)."""
    up = run.up or run.ended_at
    rises = [up + (service - served) for service in (policy.slice, policy.long_after)]
    times = [first, *(at for at in rises if first < at < last), last]
    for low, high in pairwise(times):
        yield level_at(served + max(timedelta(0), low - up), policy), low, high
