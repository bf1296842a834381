"""Tries policy numbers on the tasks of the last days: the simulator runs them with the old and with the new numbers.

The simulator is that of `hai sim`, and it decides with the core of the service.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.service.insight.past import Past
from hai_scheduler.service.shared.orders import SnapshotFacts, TrialOrder
from hai_scheduler.sim.engine import Stalled
from hai_scheduler.sim.scenario import Setting, SimulatedJob
from hai_scheduler.sim.simulate import Progress, SimulationOutcome, simulate
from hai_scheduler.sim.summary import percentile, summarize

#: How often the simulated scheduler plans at most.
TICK: Final = timedelta(seconds=5)
#: How long a task saves that was never told to leave, if none was.
SAVES_IN: Final = timedelta(seconds=10)
#: The name of the level of tasks that ask for AUTO.
AUTO: Final = "AUTO"


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelTrial:
    """The tasks that ask for one level."""

    level: str
    tasks: int
    #: How long they waited for their first turn, in seconds; None: none has started.
    wait_p50_s: float | None
    wait_p90_s: float | None
    interruptions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTrial:
    """One node group."""

    group: str
    nodes: int
    tasks: int
    occupancy: float | None
    useful: float | None
    wait_p50_s: float | None
    wait_p90_s: float | None
    interruptions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSide:
    """What happens with some numbers, or what has happened."""

    #: The parts of the node time that runs held, and that was useful, 0 to 1; None: not known.
    occupancy: float | None
    useful: float | None
    turns: int
    interruptions: int
    #: Node time whose work was lost, in seconds; None: not known.
    lost_node_s: float | None = None
    #: Tasks that never end, because they never can start or are held.
    unfinished: int = 0
    levels: tuple[LevelTrial, ...] = ()
    groups: tuple[GroupTrial, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The numbers in force and others, side by side."""

    since: datetime
    until: datetime
    #: How many tasks were simulated.
    tasks: int
    #: With the numbers in force, and with the others; None: see `fault`.
    old: TrialSide | None = None
    new: TrialSide | None = None
    #: What the ledger says that has happened. It tells how near the simulation comes.
    measured: TrialSide | None = None
    #: What the figures rest on.
    assumptions: tuple[TrialAssumption, ...] = ()
    #: Why there are no figures, as a sentence with a remedy.
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class TrialAssumption:
    """Something that the figures of a trial rest on."""

    name: str
    #: The number of tasks or nodes that it is about.
    count: int | None = field(default=None, kw_only=True)
    #: The length of time that it names.
    length: timedelta | None = field(default=None, kw_only=True)


class _OutOfTime(Exception):
    """A simulation has used up its processor time."""


def try_policies(past: Past, facts: SnapshotFacts, order: TrialOrder, tell: Callable[[float], None]) -> Trial:
    """Simulate the tasks with both sets of numbers. A worker calls it (computing/work.py).

    Args:
        past: What has happened.
        facts: The nodes, and the numbers in force.
        order: The time, the new numbers and the bounds.
        tell: Takes the progress, 0 to 1.
    """
    days = max(1, round((order.now - order.since) / timedelta(days=1)))
    empty = Trial(since=order.since, until=order.now, tasks=0)
    if past.too_many:
        return _refused(empty, f"There were more than {order.most_tasks} tasks", days)
    made = jobs_of(past, order, facts.nodes)
    if not made.jobs:
        why = f"No task has run since {order.since:%Y-%m-%d %H:%M} UTC: give more days."
        return Trial(since=order.since, until=order.now, tasks=0, fault=why)
    sides: list[TrialSide] = []
    for number, policies in enumerate((facts.policies, order.policies)):
        setting = Setting(
            nodes=facts.nodes,
            policies=policies,
            quotas=tuple(past.quotas),
            groups_of=past.groups_of,
            counted_low=past.counted_low,
            start_takes=made.start_takes,
            tick=TICK,
        )
        try:
            outcome = simulate(setting, made.jobs, _watch(order.most_seconds, number, tell))
        except _OutOfTime:
            return _refused(empty, f"To simulate {len(made.jobs)} tasks takes too long", days)
        except Stalled as error:
            which = "new numbers" if number else "numbers in force"
            return Trial(since=order.since, until=order.now, tasks=len(made.jobs), fault=f"With the {which}, {error}.")
        sides.append(_side(outcome, made))
    old, new = sides
    return Trial(
        since=order.since,
        until=order.now,
        tasks=len(made.jobs),
        old=old,
        new=new,
        measured=_measured(past, made),
        assumptions=made.assumptions,
    )


def _refused(empty: Trial, why: str, days: int) -> Trial:
    remedy = "give fewer days" if days > 1 else "there is no shorter time to try"
    return Trial(since=empty.since, until=empty.until, tasks=0, fault=f"{why}: {remedy}.")


def _watch(most_seconds: float, number: int, tell: Callable[[float], None]) -> Callable[[Progress], None]:
    began = time.thread_time()

    def watch(progress: Progress) -> None:
        if time.thread_time() - began > most_seconds:
            raise _OutOfTime
        tell((number + progress.done / max(1, progress.jobs)) / 2)

    return watch


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeJobs:
    """The jobs of a trial, and what they rest on."""

    jobs: Sequence[SimulatedJob]
    #: Tasks that were submitted in the time: the others count in no wait.
    fresh: frozenset[TaskId]
    start_takes: timedelta
    assumptions: tuple[TrialAssumption, ...]


def jobs_of(past: Past, order: TrialOrder, nodes: Sequence[Node]) -> MadeJobs:
    """Return the tasks as jobs of a simulation: each works as long as it did in the time."""
    took = [task.leaving_took for task in past.tasks if task.leaving_took is not None]
    saves_in = _median(took, SAVES_IN)
    counts: Counter[str] = Counter()
    jobs: list[SimulatedJob] = []
    fresh: set[TaskId] = set()
    for task in past.tasks:
        work = _work(task, past, order)
        if work <= timedelta(0):
            counts["unstarted" if task.run is None else "idle"] += 1
            continue
        if not _by_itself(task):
            counts["cut"] += 1
        submitted = max(task.submitted_at, order.since)
        if task.submitted_at >= order.since:
            fresh.add(task.id)
        else:
            counts["older"] += 1
        jobs.append(
            SimulatedJob(
                task=_as_submitted(task, submitted),
                work=work,
                saves_in=None if _never_saves(task) else (saves_in if task.leaving_took is None else task.leaving_took),
            )
        )
    start_takes = _median(past.starts, timedelta(0))
    return MadeJobs(
        jobs=jobs,
        fresh=frozenset(fresh),
        start_takes=start_takes,
        assumptions=tuple(_assumptions(counts, start_takes, saves_in, nodes)),
    )


def _median(lengths: Sequence[timedelta], default: timedelta) -> timedelta:
    return timedelta(seconds=median(each.total_seconds() for each in lengths)) if lengths else default


def _work(task: Task, past: Past, order: TrialOrder) -> timedelta:
    """How long the task worked in the time."""
    worked = past.worked.get(task.id, timedelta(0))
    run = task.live_run
    if run is not None and run.running_at is not None:
        since = max(run.running_at, order.since, past.counted or order.since)
        until = order.now if run.notice is None else run.notice.at
        worked += max(timedelta(0), until - since)
    return worked


def _by_itself(task: Task) -> bool:
    """Whether the length of the task is its own: it was not stopped, and does not go on."""
    return task.state in (TaskState.SUCCEEDED, TaskState.FAILED) and task.reason is not Reason.TIME_LIMIT


def _never_saves(task: Task) -> bool:
    return task.unsaved > 0 and task.checkpoint is None


def _as_submitted(task: Task, at: datetime) -> Task:
    return Task(
        id=task.id,
        name=task.name,
        user=task.user,
        group=task.group,
        priority=task.priority,
        nodes=task.nodes,
        gpus=task.gpus,
        submitted_at=at,
        waiting_since=at,
        profile=Profile.KILL if task.profile is Profile.KILL else Profile.AUTO,
        grace=task.grace,
    )


def _assumptions(
    counts: Mapping[str, int], start_takes: timedelta, saves_in: timedelta, nodes: Sequence[Node]
) -> Iterable[TrialAssumption]:
    yield TrialAssumption("work")
    for name in ("cut", "unstarted", "idle", "older"):
        if counts[name]:
            yield TrialAssumption(name, count=counts[name])
    yield TrialAssumption("start", length=start_takes)
    yield TrialAssumption("saving", length=saves_in)
    yield TrialAssumption("now")
    if away := sum(not node.ready or node.closed or node.mark is not NodeMark.NONE for node in nodes):
        yield TrialAssumption("away", count=away)
    yield TrialAssumption("users")
    yield TrialAssumption("plans", length=TICK)


def _side(outcome: SimulationOutcome, made: MadeJobs) -> TrialSide:
    summary = summarize(outcome)
    first: dict[TaskId, datetime] = {}
    for run in outcome.records.runs:
        known = first.get(run.task_id)
        first[run.task_id] = run.started_at if known is None else min(known, run.started_at)
    tasks = {job.task.id: job.task for job in made.jobs}
    waits = {
        task_id: (start - tasks[task_id].submitted_at).total_seconds()
        for task_id, start in first.items()
        if task_id in made.fresh
    }
    suspensions = {one.task_id: one.suspensions for one in outcome.records.tasks}
    suspensions |= {task.id: task.suspensions for task in outcome.unfinished}
    return TrialSide(
        occupancy=summary["occupancy"],
        useful=summary["useful"],
        turns=len(outcome.records.runs),
        interruptions=summary["suspensions"],
        lost_node_s=summary["lost_node_s"],
        unfinished=summary["unfinished"],
        levels=_levels(tasks.values(), waits, suspensions),
        groups=_groups(outcome, tasks, waits, suspensions),
    )


def _level_name(task: Task) -> str:
    return AUTO if task.priority is None else task.priority.name


def _levels(
    tasks: Iterable[Task], waits: Mapping[TaskId, float], suspensions: Mapping[TaskId, int]
) -> tuple[LevelTrial, ...]:
    by_level: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_level[_level_name(task)].append(task)
    order = [*(level.name for level in sorted(Priority, reverse=True)), AUTO]
    return tuple(
        LevelTrial(
            level=level,
            tasks=len(by_level[level]),
            wait_p50_s=_percentile(by_level[level], waits, 50),
            wait_p90_s=_percentile(by_level[level], waits, 90),
            interruptions=sum(suspensions.get(task.id, 0) for task in by_level[level]),
        )
        for level in order
        if level in by_level
    )


def _groups(
    outcome: SimulationOutcome,
    tasks: Mapping[TaskId, Task],
    waits: Mapping[TaskId, float],
    suspensions: Mapping[TaskId, int],
) -> tuple[GroupTrial, ...]:
    last = outcome.last_submission if outcome.last_submission > outcome.begin else outcome.end
    length = (last - outcome.begin).total_seconds()
    sizes = Counter(node.group for node in outcome.setting.nodes)
    members: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks.values():
        members[task.group].append(task)
    held: defaultdict[str, float] = defaultdict(float)
    useful: defaultdict[str, float] = defaultdict(float)
    for run in outcome.records.runs:
        group = tasks[run.task_id].group
        held[group] += run.share * _overlap(run.started_at, run.ended_at, last)
        if run.up is not None and run.kept_until is not None:
            useful[group] += run.share * _overlap(run.up, run.kept_until, last)
    return tuple(
        GroupTrial(
            group=group,
            nodes=sizes[group],
            tasks=len(members[group]),
            occupancy=_part(held[group], sizes[group] * length),
            useful=_part(useful[group], sizes[group] * length),
            wait_p50_s=_percentile(members[group], waits, 50),
            wait_p90_s=_percentile(members[group], waits, 90),
            interruptions=sum(suspensions.get(task.id, 0) for task in members[group]),
        )
        for group in sorted(members)
    )


def _overlap(begin: datetime, end: datetime, last: datetime) -> float:
    return max(0.0, (min(end, last) - begin).total_seconds())


def _part(some: float, whole: float) -> float | None:
    return round(some / whole, 4) if whole else None


def _percentile(tasks: Iterable[Task], waits: Mapping[TaskId, float], percent: float) -> float | None:
    ordered = sorted(waits[task.id] for task in tasks if task.id in waits)
    return round(percentile(ordered, percent), 3) if ordered else None


def _measured(past: Past, made: MadeJobs) -> TrialSide:
    """What has happened, as the ledger has it."""
    tasks = {job.task.id: job.task for job in made.jobs}
    waits = {task_id: wait.total_seconds() for task_id, wait in past.first_waits.items() if task_id in made.fresh}
    suspensions = {task.id: task.suspensions for task in past.tasks if task.id in made.fresh}
    return TrialSide(
        occupancy=None if past.capacity_s is None else _part(past.held_s, past.capacity_s),
        useful=None if past.capacity_s is None else _part(past.useful_s, past.capacity_s),
        turns=past.turns,
        interruptions=past.interruptions,
        levels=_levels(tasks.values(), waits, suspensions),
    )
