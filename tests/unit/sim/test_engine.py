"""When plans are made, how time goes on, and how a simulation begins in the middle."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hai_scheduler.core.model.decisions import Plan, Start, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import Verdicts
from hai_scheduler.sim import engine as engine_module
from hai_scheduler.sim.engine import Engine, Stalled
from hai_scheduler.sim.scenario import SimulatedJob
from kit.builders import T0, at
from unit.sim.jobs_kit import HOUR, a_job, a_setting, ends, run, turns

DAY = 24 * HOUR


def test_plans_are_made_at_ticks() -> None:
    outcome = run([a_job(1, 100), a_job(2, 100, submitted=5)], nodes=2, tick=timedelta(seconds=60))
    assert turns(outcome, 1) == [(0, 100)], "what happens by itself does not wait for a tick"
    assert turns(outcome, 2) == [(60, 160)]


def test_nothing_is_planned_while_nothing_happens() -> None:
    outcome = run([a_job(1, 30 * DAY)])
    assert len(outcome.records.plan_seconds) <= 2


def test_waiting_for_a_turn_costs_a_few_plans_and_not_one_a_second() -> None:
    outcome = run([a_job(1, 2 * HOUR), a_job(2, 2 * HOUR)])
    assert max(ends(outcome).values()) == 4 * HOUR
    assert len(outcome.records.plan_seconds) < 60


def restless(snapshot: Snapshot, *_: object) -> Plan:
    """Rules that change their mind each time."""
    (task,) = snapshot.tasks
    if task.state.waiting:
        decision = Start(task_id=task.id, nodes=("n1",), priority=Priority.NORMAL)
    else:
        decision = Suspend(task_id=task.id, reason=Reason.TURN_OVER)
    return Plan(decisions=(decision,), verdicts=Verdicts(), later=lambda: snapshot.now)


def start_of(engine: Engine, task: int) -> datetime | None:
    """Go on until the task is started; None if it never is."""
    while TaskId(task) not in engine.starts and engine.step():
        pass
    return engine.starts.get(TaskId(task))


def test_rules_that_never_let_a_task_end_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "plan", restless)
    monkeypatch.setattr(engine_module, "_MOST_IDLE_PLANS", 200)
    engine = Engine(a_setting(restart_cost=timedelta(hours=1)), T0, jobs=[a_job(1, 100)])
    with pytest.raises(Stalled, match="raise min_run or slice"):
        start_of(engine, 99)
    assert engine.now > T0, "a moment has an end even then"


# -- beginning in the middle --------------------------------------------------------------------------


def in_the_middle(jobs: list[SimulatedJob], seconds_in: float, **fields: object) -> Engine:
    engine = Engine(a_setting(**fields), T0, jobs=jobs)
    engine.step()
    while engine.now < at(seconds_in) and engine.step():
        pass
    return engine


def test_an_engine_begins_with_the_running_tasks_of_a_snapshot() -> None:
    world = in_the_middle([a_job(1, 1000, priority=Priority.HIGH), a_job(2, 100, submitted=50)], 50)
    jobs = [SimulatedJob(task=world.tasks[TaskId(1)], work=timedelta(seconds=700)), a_job(2, 100)]
    engine = Engine.of_snapshot(world.snapshot(), Policy(), jobs=jobs)
    assert start_of(engine, 2) == at(750)
    assert engine.now == at(750)


def test_a_hypothetical_task_is_one_more_job() -> None:
    world = in_the_middle([a_job(1, 1000, priority=Priority.HIGH)], 0)
    engine = Engine.of_snapshot(
        world.snapshot(),
        Policy(),
        jobs=[SimulatedJob(task=world.tasks[TaskId(1)], work=timedelta(seconds=700)), a_job(9, 1, submitted=20)],
    )
    assert start_of(engine, 9) == at(700)


def test_a_task_without_a_job_runs_without_end() -> None:
    world = in_the_middle([a_job(1, 1000, priority=Priority.HIGH)], 0)
    engine = Engine.of_snapshot(world.snapshot(), Policy(), jobs=[a_job(9, 1, submitted=20)])
    assert start_of(engine, 9) is None


def test_what_can_never_start_is_finished() -> None:
    world = in_the_middle([a_job(1, 100)], 0)
    engine = Engine.of_snapshot(world.snapshot(), Policy(), jobs=[a_job(9, 1, nodes=2)])
    assert start_of(engine, 9) is None
    assert engine.finished


def test_the_snapshot_s_own_quota_counts() -> None:
    world = in_the_middle([a_job(1, 100)], 0, quotas=())
    engine = Engine.of_snapshot(world.snapshot(), Policy(), jobs=[a_job(9, 1)])
    assert start_of(engine, 9) is None


def test_a_task_that_is_leaving_leaves() -> None:
    jobs = [a_job(1, 4000, saves_in=60), a_job(2, 50, submitted=100, priority=Priority.HIGH)]
    world = in_the_middle(jobs, 100)
    assert world.tasks[TaskId(1)].state is TaskState.SUSPENDING
    again = [SimulatedJob(task=world.tasks[TaskId(1)], work=None, saves_in=timedelta(seconds=60)), jobs[1]]
    assert start_of(Engine.of_snapshot(world.snapshot(), Policy(), jobs=again), 2) == at(160)
    deaf = [SimulatedJob(task=world.tasks[TaskId(1)], work=None, saves_in=None), jobs[1]]
    assert start_of(Engine.of_snapshot(world.snapshot(), Policy(), jobs=deaf), 2) == at(220)


def test_a_task_that_is_starting_comes_up() -> None:
    cost = timedelta(seconds=60)
    world = in_the_middle([a_job(1, 300, priority=Priority.HIGH)], 0, start_takes=cost)
    assert world.tasks[TaskId(1)].state is TaskState.STARTING
    jobs = [SimulatedJob(task=world.tasks[TaskId(1)], work=timedelta(seconds=300)), a_job(9, 1, submitted=20)]
    engine = Engine.of_snapshot(world.snapshot(), Policy(), jobs=jobs)
    assert start_of(engine, 9) == at(300), "how long its first start takes is not known"


def test_nothing_starts_in_a_paused_snapshot() -> None:
    world = in_the_middle([a_job(1, 100)], 0, paused=True)
    assert world.tasks[TaskId(1)].state is TaskState.QUEUED
    engine = Engine.of_snapshot(world.snapshot(), Policy())
    assert start_of(engine, 1) is None
