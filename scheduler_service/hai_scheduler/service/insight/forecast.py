"""Forecasts when a task starts: the planner runs in virtual time over the current queue (`sim`)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from hai_scheduler.core.explaining.what_if import of_group, with_task
from hai_scheduler.core.lifecycle.run_outcome import work_lost
from hai_scheduler.core.model.decisions import Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Holder, Verdict
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.sentences.assumptions import assumption, lengths_known
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.verdicts import why
from hai_scheduler.sentences.words import duration, node_names, sentences, when, who
from hai_scheduler.service.insight.history import Basis, History
from hai_scheduler.service.shared.orders import HORIZON, Bounds
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.scenario import SimulatedJob

#: The step in virtual time grows by a second for every 50 tasks, up to a minute: in a long queue something happens at
#: almost every second, and small steps would use up the processor time too early.
_TASKS_A_SECOND: Final = 50
_LONGEST_STEP: Final = timedelta(minutes=1)


class Outcome(StrEnum):
    """The result of a forecast."""

    NOW = "now"
    LATER = "later"
    #: The task does not start within the horizon.
    BEYOND_HORIZON = "beyond_horizon"
    #: The processor time of the forecast was used up before the task started.
    BEYOND_COMPUTED = "beyond_computed"
    #: No event in the forecast lets it start.
    NEVER = "never"
    #: The task has its nodes already.
    RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A task that would be told to leave, and the cost for it."""

    task: Task
    at: datetime
    #: The nodes that its run holds, and the level of the run.
    nodes: int
    priority: Priority
    #: Running time since its latest checkpoint, multiplied by nodes: lost unless the task saves after the notice.
    unsaved: timedelta
    #: Time that a suspension with the resume after it has cost the task before, multiplied by nodes (P6).
    switch: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastAssumption:
    """An assumption of the forecast."""

    name: str
    #: The number of tasks by the source of their length; empty where that does not apply.
    tasks: Mapping[str, int] = field(default_factory=dict)
    #: The length of time that it names.
    length: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The forecast of a task's start, with its assumptions."""

    task: Task
    #: Whether the task is not submitted.
    hypothetical: bool
    outcome: Outcome
    at: datetime
    starts_at: datetime | None = None
    nodes: tuple[str, ...] = ()
    gpus: tuple[tuple[int, ...], ...] = ()
    suspends: Sequence[Cost] = ()
    #: Why the task waits now, if it does.
    verdict: Verdict | None = None
    assumptions: Sequence[ForecastAssumption] = ()
    horizon: timedelta = HORIZON
    #: Up to when the planner was run.
    computed_until: datetime
    plans: int = 0


def forecast_start(
    snapshot: Snapshot, policies: Policies, task: Task, history: History, bounds: Bounds, *, hypothetical: bool
) -> Forecast:
    """Run the planner in virtual time from the snapshot until the task starts. A worker calls it (computing/work.py).

    A held task counts as released now.
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
    return Forecast(
        task=task,
        hypothetical=hypothetical,
        outcome=outcome,
        at=snapshot.now,
        starts_at=starts_at,
        nodes=run.nodes,
        gpus=run.gpus,
        suspends=tuple(run.costs.values()) if starts_at is not None else (),
        verdict=plan(snapshot, policies).verdicts.get(task.id),
        assumptions=assumptions_for(bases, step=step, held=task.held),
        horizon=bounds.horizon,
        computed_until=run.engine.now,
        plans=run.engine.plans,
    )


def step_for(tasks: int) -> timedelta:
    """The step in virtual time of a forecast over that number of tasks."""
    return min(_LONGEST_STEP, timedelta(seconds=max(1, tasks // _TASKS_A_SECOND)))


def of_running(task: Task, now: datetime) -> Forecast:
    """The forecast of a task that already holds its nodes."""
    run = task.live_run
    assert run is not None, f"task {task.id} holds no nodes"
    return Forecast(
        task=task,
        hypothetical=False,
        outcome=Outcome.RUNNING,
        at=now,
        starts_at=run.started_at,
        nodes=run.nodes,
        gpus=tuple(rank.gpus for rank in run.ranks),
        computed_until=now,
    )


@dataclass(slots=True)
class _Run:
    """The simulation engine, observed for one task."""

    engine: Engine
    task_id: TaskId
    bounds: Bounds
    #: The tasks that are told to leave for it.
    costs: dict[TaskId, Cost] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    gpus: tuple[tuple[int, ...], ...] = ()

    def until_started(self) -> Outcome:
        """Run until the task starts, no event is left, or a bound is reached."""
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
        """Note the costs of the tasks that are told to leave for the task."""
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


def _job(task: Task, history: History, now: datetime, bases: Counter[Basis]) -> SimulatedJob:
    """The assumed behaviour of a task: it runs as long as similar ones, and leaves as fast as the last time."""
    basis, left = history.left(task, now)
    bases[basis] += 1
    return SimulatedJob(task=task, work=left, saves_in=task.leaving_took)


def assumptions_for(bases: Mapping[Basis, int], *, step: timedelta, held: bool) -> tuple[ForecastAssumption, ...]:
    """The assumptions of a forecast.

    Args:
        bases: The number of tasks by the source of their length.
        step: The step in virtual time.
        held: Whether the task is held.
    """
    counts = {basis.value: bases[basis] for basis in Basis if bases.get(basis)}
    found = [
        ForecastAssumption(name="lengths", tasks=counts),
        *(ForecastAssumption(name=name) for name in ("submissions", "leaving", "checkpoints")),
    ]
    if step > step_for(0):
        found.append(ForecastAssumption(name="steps", length=step))
    if held:
        found.append(ForecastAssumption(name="held"))
    return tuple(found)


def assumption_text(say: Language, found: ForecastAssumption) -> str:
    """The assumption in a sentence."""
    return assumption(say, "forecast", found.name, length=found.length, known=lengths_known(say, found.tasks))


def sentence_of_forecast(say: Language, forecast: Forecast) -> str:
    """The forecast in one or two sentences."""
    outcome, at = forecast.outcome, forecast.at
    match outcome:
        case Outcome.BEYOND_HORIZON:
            return say("forecast.beyond_horizon", length=duration(say, forecast.horizon))
        case Outcome.BEYOND_COMPUTED:
            return say("forecast.beyond_computed", length=duration(say, forecast.computed_until - at))
        case Outcome.NEVER:
            never, verdict = say("forecast.never"), forecast.verdict
            return never if verdict is None else sentences(say, (never, why(say, verdict, at)))
        case Outcome.RUNNING:
            return say("forecast.running", nodes=node_names(say, forecast.nodes))
    there = say("forecast.there", nodes=node_names(say, forecast.nodes)) if forecast.nodes else ""
    if outcome is Outcome.NOW or forecast.starts_at is None:
        return say("forecast.now", there=there)
    them = who(say, [Holder.of(cost.task, cost.priority, cost.nodes) for cost in forecast.suspends])
    after = say("forecast.after", who=them) if them else ""
    return say("forecast.later", when=when(say, forecast.starts_at, at), there=there, after=after)
