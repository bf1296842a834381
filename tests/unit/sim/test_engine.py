"""The world around the core: how jobs run, leave, save, fail and come back, and how time goes on."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hai_scheduler.core.model.decisions import Plan, Start, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Retry, TaskState
from hai_scheduler.core.model.verdicts import Verdicts
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.sim import engine as engine_module
from hai_scheduler.sim.engine import Engine, Stalled
from hai_scheduler.sim.scenario import SimulatedJob
from hai_scheduler.sim.simulate import Progress, simulate
from kit.builders import T0, at
from unit.sim.jobs_kit import HOUR, a_job, a_setting, ends, run, runs_of, seconds, turns

DAY = 24 * HOUR


# -- leaving ----------------------------------------------------------------------------------------


def interrupted(**behaviour: object) -> list[SimulatedJob]:
    """A long job, and an urgent one of 50 s that comes at 100 s."""
    return [a_job(1, 4000, **behaviour), a_job(2, 50, submitted=100, priority=Priority.HIGH)]


def test_time_to_save_is_not_work() -> None:
    outcome = run(interrupted(saves_in=20))
    assert turns(outcome, 2) == [(120, 170)]
    assert turns(outcome, 1) == [(0, 120), (170, 170 + 3900)]
    assert seconds(runs_of(outcome.records, 1)[0].kept_until) == 100


def test_who_ignores_the_notice_is_ended_at_the_deadline_and_begins_again() -> None:
    outcome = run(interrupted(saves_in=None))
    assert turns(outcome, 2) == [(220, 270)]
    assert turns(outcome, 1) == [(0, 220), (270, 270 + 4000)]


def test_what_it_has_saved_by_itself_is_kept() -> None:
    outcome = run(interrupted(saves_in=None, saves_every=60))
    assert turns(outcome, 1) == [(0, 220), (270, 270 + 4000 - 180)]


def test_who_saves_longer_than_its_grace_asks_for_more_time() -> None:
    outcome = run(interrupted(saves_in=300))
    assert turns(outcome, 2) == [(400, 450)]
    assert ends(outcome)[1] == 450 + 3900


def test_more_time_ends_at_the_largest_grace() -> None:
    outcome = run(interrupted(saves_in=3000))
    assert turns(outcome, 2) == [(1900, 1950)]
    assert ends(outcome)[1] == 1950 + 4000, "it was ended before it had saved"


def test_saving_just_in_time_is_in_time() -> None:
    outcome = run(interrupted(saves_in=120))
    assert turns(outcome, 1) == [(0, 220), (270, 270 + 3900)]


def test_a_job_of_the_profile_kill_leaves_at_once_with_nothing_saved() -> None:
    outcome = run([a_job(1, 4000, profile=Profile.KILL), a_job(2, 50, submitted=100, priority=Priority.HIGH)])
    assert turns(outcome, 2) == [(100, 150)]
    assert turns(outcome, 1) == [(0, 100), (150, 4150)]


def test_a_start_that_is_interrupted_leaves_at_once() -> None:
    jobs = interrupted()
    outcome = run(jobs, start_takes=timedelta(seconds=500))
    assert turns(outcome, 2) == [(100, 650)]
    assert turns(outcome, 1) == [(0, 100), (650, 650 + 500 + 4000)]
    assert runs_of(outcome.records, 1)[0].up is None


def test_a_time_limit_stops_a_task() -> None:
    outcome = run([a_job(1, 1000, limit=300)])
    (task,) = outcome.records.tasks
    assert (task.state, seconds(task.ended_at)) == (TaskState.FAILED, 300)
    assert outcome.records.runs[0].reason is Reason.TIME_LIMIT


# -- failing ----------------------------------------------------------------------------------------


class PlannedFailures:
    """Nodes fail when the test says so."""

    def __init__(self, *times: tuple[float, str], repair: float = 1000) -> None:
        self.times = times
        self.repair = timedelta(seconds=repair)

    def failures(self, begin, nodes):
        yield from ((at(time), name) for time, name in self.times)
        while True:
            yield at(hours=1_000_000), nodes[0]


def test_a_command_that_fails_ends_its_task() -> None:
    outcome = run([a_job(1, 100, fails_after=40)])
    (task,) = outcome.records.tasks
    assert (task.state, seconds(task.ended_at)) == (TaskState.FAILED, 40)


def test_a_retry_waits_and_begins_where_it_had_saved() -> None:
    retry = Retry(count=1, backoff=timedelta(seconds=30))
    outcome = run([a_job(1, 100, fails_after=40, retry=retry)])
    assert turns(outcome, 1) == [(0, 40), (70, 170)]
    outcome = run([a_job(1, 100, fails_after=45, retry=retry, saves_every=10)])
    assert turns(outcome, 1) == [(0, 45), (75, 75 + 60)]


def test_a_lost_node_ends_its_runs_which_start_elsewhere_at_once() -> None:
    outcome = run([a_job(1, 100, saves_every=20)], nodes=2, failures=PlannedFailures((50, "n1")))
    first, second = runs_of(outcome.records, 1)
    assert (first.nodes, first.reason, seconds(first.ended_at)) == (("n1",), Reason.NODE_LOST, 50)
    assert (second.nodes, seconds(second.started_at), seconds(second.ended_at)) == (("n2",), 50, 110)
    assert outcome.records.tasks[0].suspensions == 0
    assert outcome.records.failures == 1


def test_a_failed_node_takes_no_runs_until_it_is_repaired() -> None:
    jobs = [a_job(1, 100), a_job(2, 10, submitted=60, nodes=2)]
    outcome = run(jobs, nodes=2, failures=PlannedFailures((50, "n2"), (55, "n2"), repair=500))
    assert turns(outcome, 2) == [(550, 560)]
    assert outcome.records.failures == 1, "what is down does not fail"
    assert [(seconds(time), count) for time, count in outcome.records.ready] == [(0, 2), (50, 1), (550, 2)]


def test_a_node_that_fails_tasks_is_quarantined_until_it_is_repaired() -> None:
    policy = Policy(strikes=2, strike_tasks=2, quarantine_share=1.0)
    failures = PlannedFailures((50, "n1"), repair=500)
    jobs = [a_job(1, 5000, gpus=4), a_job(2, 5000, gpus=4)]
    engine = Engine(a_setting(2, policies=policy, failures=failures), T0, jobs=jobs)
    marks = []
    while engine.step():
        marks.append((seconds(engine.now), engine.snapshot().nodes[0].mark.value))
    assert (50, "quarantined") in marks
    assert (550, "none") in marks


def test_failures_alone_do_not_keep_a_simulation_going() -> None:
    outcome = run([a_job(1, 100, nodes=1)], quotas=(), failures=PlannedFailures((50, "n1")))
    assert [task.id for task in outcome.unfinished] == [1]


# -- sharing and quota --------------------------------------------------------------------------------


def test_parts_of_a_node_are_shared_and_a_whole_one_is_not() -> None:
    jobs = [a_job(1, 100, gpus=4), a_job(2, 100, gpus=4), a_job(3, 100, gpus=4, submitted=1), a_job(4, 10, submitted=2)]
    outcome = run(jobs, discipline=Discipline.FIFO)
    assert ends(outcome) == {1: 100, 2: 100, 3: 200, 4: 210}


def test_all_users_have_unlimited_quota_unless_rows_are_given() -> None:
    jobs = [a_job(1, 100, user="ann"), a_job(2, 100, user="ann")]
    assert ends(run(jobs, nodes=2)) == {1: 100, 2: 100}
    row = Quota(subject="public", group="training", priority=Priority.NORMAL, limit=1)
    assert ends(run(jobs, nodes=2, quotas=(row,))) == {1: 100, 2: 200}


def test_a_task_that_can_never_start_is_left_over() -> None:
    outcome = run([a_job(1, 100), a_job(2, 100, nodes=3)], nodes=2)
    assert ends(outcome) == {1: 100}
    assert [task.id for task in outcome.unfinished] == [2]


def test_a_held_task_is_left_over() -> None:
    outcome = run([a_job(1, 100), a_job(2, 100, held=True)])
    assert [task.id for task in outcome.unfinished] == [2]


# -- time ---------------------------------------------------------------------------------------------


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


def test_equal_scenarios_have_equal_outcomes() -> None:
    def once() -> object:
        jobs = [a_job(n, 500 + 37 * n, submitted=20 * n, nodes=1 + n % 3) for n in range(1, 40)]
        outcome = run(jobs, nodes=5, restart_cost=timedelta(seconds=30))
        return outcome.records.runs, outcome.records.tasks, outcome.records.moments

    assert once() == once()


def test_progress_is_told_to_the_end() -> None:
    told: list[Progress] = []
    simulate(a_setting(), [a_job(n, 10) for n in range(1, 4)], told.append)
    assert (told[-1].done, told[-1].jobs, seconds(told[-1].now)) == (3, 3, 30)


def test_a_simulation_needs_a_job() -> None:
    with pytest.raises(ValueError, match="no job"):
        simulate(a_setting(), [])


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
