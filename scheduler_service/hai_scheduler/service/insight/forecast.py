"""When would it start? The planner is run forward in virtual time over the current queue (`sim`)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from hai_scheduler.core.explaining.explain import clock, gang, node_names, span, why
from hai_scheduler.core.explaining.what_if import of_group, with_task
from hai_scheduler.core.model.decisions import Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Verdict
from hai_scheduler.core.ordering.turns import work_lost
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.service.insight.history import Basis, History
from hai_scheduler.service.shared.orders import HORIZON, Bounds
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.scenario import Job

#: For so many tasks the planner is run forward a second more at a time, up to a minute: in a long queue something
#: happens at almost every second, and the time there is would be used up before much of it is foreseen.
_TASKS_A_SECOND: Final = 50
_LONGEST_STEP: Final = timedelta(minutes=1)


class Outcome(StrEnum):
    """What was found."""

    NOW = "now"
    LATER = "later"
    #: It does not start within the horizon.
    BEYOND_HORIZON = "beyond_horizon"
    #: The time for one forecast was over before it started.
    BEYOND_COMPUTED = "beyond_computed"
    #: Nothing that is foreseen will ever let it start.
    NEVER = "never"
    #: It has its nodes already.
    RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A task that would be told to leave, and what that would cost it."""

    task: Task
    at: datetime
    #: What its run holds, and at which level.
    nodes: int
    priority: Priority
    #: Running time since its latest checkpoint, times nodes: lost unless it saves when it is told.
    unsaved: timedelta
    #: What a suspension and the resume after it have cost it before, times nodes (P6).
    switch: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """Something that the forecast takes for granted."""

    name: str
    sentence: str
    #: Of how many tasks, by what it is known from; empty where that does not apply.
    tasks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When a task would start under stated assumptions."""

    task: Task
    #: Whether the task is only thought of.
    hypothetical: bool
    outcome: Outcome
    sentence: str
    at: datetime
    starts_at: datetime | None = None
    nodes: tuple[str, ...] = ()
    gpus: tuple[tuple[int, ...], ...] = ()
    suspends: Sequence[Cost] = ()
    #: Why it waits now, if it does.
    verdict: Verdict | None = None
    assumptions: Sequence[Assumption] = ()
    horizon: timedelta = HORIZON
    #: Up to when the planner was run.
    computed_until: datetime
    plans: int = 0


def foretell(
    snapshot: Snapshot, policies: Policies, task: Task, history: History, bounds: Bounds, *, hypothetical: bool
) -> Forecast:
    """Run the planner forward from the snapshot until the task is started. A worker does it (computing/work.py).

    A task that is held is taken as released now.
    """
    snapshot = with_task(of_group(snapshot, task.group), replace(task, held=False))
    bases: Counter[Basis] = Counter()
    jobs = [_job(one, history, snapshot.now, bases) for one in snapshot.tasks]
    step = step_for(len(jobs))
    run = _Run(Engine.of_snapshot(snapshot, policies, jobs=jobs, tick=step), task.id, bounds)
    outcome = run.until_started()
    starts_at = run.engine.starts.get(task.id) if outcome is Outcome.LATER else None
    if starts_at == snapshot.now:
        outcome = Outcome.NOW
    forecast = Forecast(
        task=task,
        hypothetical=hypothetical,
        outcome=outcome,
        sentence="",
        at=snapshot.now,
        starts_at=starts_at,
        nodes=run.nodes,
        gpus=run.gpus,
        suspends=tuple(run.costs.values()) if starts_at is not None else (),
        verdict=plan(snapshot, policies).verdicts.get(task.id),
        assumptions=_assumptions(task, bases, step),
        horizon=bounds.horizon,
        computed_until=run.engine.now,
        plans=run.engine.plans,
    )
    return replace(forecast, sentence=sentence_of_forecast(forecast))


def step_for(tasks: int) -> timedelta:
    """How far apart the planner looks in a forecast over so many tasks."""
    return min(_LONGEST_STEP, timedelta(seconds=max(1, tasks // _TASKS_A_SECOND)))


def of_running(task: Task, now: datetime) -> Forecast:
    """The forecast of a task that has its nodes."""
    run = task.live_run
    assert run is not None, f"task {task.id} holds no nodes"
    return Forecast(
        task=task,
        hypothetical=False,
        outcome=Outcome.RUNNING,
        sentence=f"It has its nodes already: {node_names(run.nodes)}.",
        at=now,
        starts_at=run.started_at,
        nodes=run.nodes,
        gpus=tuple(rank.gpus for rank in run.ranks),
        computed_until=now,
    )


@dataclass(slots=True)
class _Run:
    """The engine, watched for one task."""

    engine: Engine
    task_id: TaskId
    bounds: Bounds
    #: Who is told to leave for it.
    costs: dict[TaskId, Cost] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    gpus: tuple[tuple[int, ...], ...] = ()

    def until_started(self) -> Outcome:
        """Go on until it is started, nothing will happen any more, or a bound is reached."""
        engine, began = self.engine, time.thread_time()
        end = engine.now + self.bounds.horizon
        self._note(list(engine.tasks))
        while engine.step():
            if engine.now > end:
                return Outcome.BEYOND_HORIZON
            made = engine.last_plan
            if made is not None:
                self._note([one.task_id for one in made.decisions if isinstance(one, Suspend)])
            if self.task_id in engine.starts:
                self._take_down(engine.tasks.get(self.task_id))
                return Outcome.LATER
            if engine.plans >= self.bounds.plans or time.thread_time() - began >= self.bounds.seconds:
                return Outcome.BEYOND_COMPUTED
        return Outcome.NEVER

    def _note(self, told: Iterable[TaskId]) -> None:
        """Take down what it costs those who are told to leave for the task."""
        for task_id in told:
            task = self.engine.tasks.get(task_id)
            run = task.run if task is not None else None
            if task is None or run is None or run.notice is None or run.notice.beneficiary != self.task_id:
                continue
            self.costs[task_id] = Cost(
                task=task,
                at=run.notice.at,
                nodes=len(run.ranks),
                priority=run.priority,
                unsaved=work_lost(run, run.notice.at) * len(run.ranks),
                switch=task.switch_cost * len(run.ranks),
            )

    def _take_down(self, task: Task | None) -> None:
        run = task.run if task is not None else None
        if run is not None:
            self.nodes, self.gpus = run.nodes, tuple(rank.gpus for rank in run.ranks)


def _job(task: Task, history: History, now: datetime, bases: Counter[Basis]) -> Job:
    """How a task is taken to behave: it ends as its kind does, and takes to leave what it took the last time."""
    basis, left = history.left(task, now)
    bases[basis] += 1
    return Job(task=task, work=left, saves_in=task.leaving_took)


def _assumptions(task: Task, bases: Mapping[Basis, int], step: timedelta) -> tuple[Assumption, ...]:
    """What the forecast takes for granted, in words and as data."""
    counts = {basis.value: bases[basis] for basis in Basis if bases.get(basis)}
    known = ", ".join(f"{count} {_BASES[Basis(name)]}" for name, count in counts.items())
    found = [
        Assumption(name="lengths", sentence=f"How long the tasks of the group run: {known}.", tasks=counts),
        Assumption(name="submissions", sentence="Nobody submits anything, changes anything or fails meanwhile."),
        Assumption(
            name="leaving",
            sentence="A task that is told to leave takes as long as the last time, else all of its grace.",
        ),
        Assumption(name="checkpoints", sentence="Checkpoints that running tasks will still make are not foreseen."),
    ]
    if step > step_for(0):
        sentence = f"The queue is long: it is looked at every {span(step)}, so each turn in it may end that much late."
        found.append(Assumption(name="steps", sentence=sentence))
    if task.held:
        found.append(Assumption(name="held", sentence="It is held: counted as if it were resumed now."))
    return tuple(found)


_BASES: Final[Mapping[Basis, str]] = {
    Basis.TIME_LIMIT: "by their time limits",
    Basis.NAME: "as their user's tasks of the same name did",
    Basis.SIZE: "as their user's tasks of the same size did",
    Basis.GROUP: "as tasks of the group did",
    Basis.UNKNOWN: "unknown, as if for ever",
}


def sentence_of_forecast(forecast: Forecast) -> str:
    """The answer in one sentence, with a capital and a full stop."""
    horizon = span(forecast.horizon)
    match forecast.outcome:
        case Outcome.BEYOND_HORIZON:
            return f"It would not start within {horizon}."
        case Outcome.BEYOND_COMPUTED:
            ahead = span(forecast.computed_until - forecast.at)
            return f"It would not start within {ahead}; what comes then is beyond what was computed."
        case Outcome.NEVER:
            return f"Nothing that is foreseen would let it start. {_why_not(forecast)}".rstrip()
    where = f"on {node_names(forecast.nodes)}" if forecast.nodes else "then"
    if forecast.outcome is Outcome.NOW or forecast.starts_at is None:
        return f"It would start now, {where}."
    when = f"{clock(forecast.starts_at, forecast.at)}, in {span(forecast.starts_at - forecast.at)}"
    others = ", ".join(
        f"task {cost.task.id} of {cost.task.user} ({cost.priority.name}, {gang(cost.nodes, cost.task.gpus)})"
        for cost in forecast.suspends[:3]
    )
    more = f" and {len(forecast.suspends) - 3} more" if len(forecast.suspends) > 3 else ""
    return f"It would start at {when}, {where}" + (f", after {others}{more} made room." if others else ".")


def _why_not(forecast: Forecast) -> str:
    return "" if forecast.verdict is None else why(forecast.verdict, forecast.at)
