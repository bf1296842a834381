"""The state of the simulated cluster between plans: who holds what, whose use is counted, and when it is over."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.event_queue import EventQueue
from hai_scheduler.sim.simulated_cluster import SimulatedCluster
from kit.builders import T0
from unit.sim.jobs_kit import a_job, a_setting, ends, run, seconds


def test_parts_of_a_node_are_shared_and_a_whole_one_is_not() -> None:
    jobs = [a_job(1, 100, gpus=4), a_job(2, 100, gpus=4), a_job(3, 100, gpus=4, submitted=1), a_job(4, 10, submitted=2)]
    outcome = run(jobs, discipline=Discipline.FIFO)
    assert ends(outcome) == {1: 100, 2: 100, 3: 200, 4: 210}


def test_all_users_have_unlimited_quota_unless_rows_are_given() -> None:
    jobs = [a_job(1, 100, user="ann"), a_job(2, 100, user="ann")]
    assert ends(run(jobs, nodes=2)) == {1: 100, 2: 100}
    row = Quota(subject="public", group="training", priority=Priority.NORMAL, limit=1)
    assert ends(run(jobs, nodes=2, quotas=(row,))) == {1: 100, 2: 200}


def test_a_time_limit_stops_a_task() -> None:
    outcome = run([a_job(1, 1000, limit=300)])
    (task,) = outcome.records.tasks
    assert (task.state, seconds(task.ended_at)) == (TaskState.FAILED, 300)
    assert outcome.records.runs[0].reason is Reason.TIME_LIMIT


def test_use_is_counted_by_user_when_a_run_ends_also_one_that_is_suspended() -> None:
    """Later tasks of a user who has used more come after those of others (O3)."""
    jobs = [a_job(1, 1000, user="ann"), a_job(2, 50, user="bob", submitted=100, priority=Priority.HIGH)]
    engine = Engine(a_setting(), T0, jobs=jobs)
    used = {}
    while engine.step():
        used |= {(use.user, seconds(use.at)): use.node_seconds for use in engine.snapshot().uses}
    assert used["ann", 100.0] == pytest.approx(100, rel=0.02), "a little has decayed"
    assert used["bob", 150.0] == pytest.approx(50, rel=0.02)
    assert used["ann", 1050.0] == pytest.approx(1000, rel=0.2)


def test_a_cluster_is_over_when_nothing_is_there_and_nothing_comes() -> None:
    cluster = SimulatedCluster(a_setting(), EventQueue(T0), None)
    assert cluster.over
    assert cluster.still
    cluster.expect(a_job(1, submitted=10))
    assert (cluster.over, cluster.still, cluster.to_come, dict(cluster.occupancy.tasks)) == (False, False, 1, {})
    cluster.expect(a_job(2))
    assert (cluster.to_come, list(cluster.occupancy.tasks)) == (1, [2])


def test_an_ended_task_is_recorded_once_and_its_progress_is_forgotten() -> None:
    outcome = run([a_job(1, 100, limit=50), a_job(2, 10, submitted=5)])
    assert [(task.task_id, task.state) for task in outcome.records.tasks] == [
        (1, TaskState.FAILED),
        (2, TaskState.SUCCEEDED),
    ]
    assert [(run.task_id, run.reason) for run in outcome.records.runs] == [
        (1, Reason.TIME_LIMIT),
        (2, Reason.SUCCEEDED),
    ]
