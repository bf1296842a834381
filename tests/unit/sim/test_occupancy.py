"""What is counted of the tasks of the simulated cluster follows from the tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.sim.occupancy import Occupancy
from hai_scheduler.sim.scenario import cluster_of
from unit.sim.jobs_kit import a_job


def a_task_of(number: int, nodes: int = 1, gpus: int | None = None) -> Task:
    return a_job(number, nodes=nodes, gpus=gpus).task


@pytest.fixture
def occupancy() -> Occupancy:
    return Occupancy(cluster_of(4, gpus=8))


def test_a_task_that_waits_is_counted_with_its_nodes_or_parts_of_nodes(occupancy: Occupancy) -> None:
    occupancy.put(None, a_task_of(1, nodes=3))
    occupancy.put(None, a_task_of(2, nodes=2, gpus=4))
    assert (occupancy.waiting, occupancy.wanted, occupancy.held) == (2, 4.0, 0.0)
    assert occupancy.stirred
    occupancy.check()


def test_a_held_task_is_there_and_does_not_wait(occupancy: Occupancy) -> None:
    task = a_task_of(1)
    occupancy.put(None, task)
    occupancy.put(task, replace(task, held=True))
    assert (occupancy.waiting, occupancy.wanted, list(occupancy.tasks)) == (0, 0.0, [1])
    occupancy.check()


def test_an_ended_task_is_gone(occupancy: Occupancy) -> None:
    task = a_task_of(1)
    occupancy.put(None, task)
    occupancy.put(task, replace(task, state=TaskState.STOPPED))
    assert (occupancy.waiting, occupancy.wanted, occupancy.tasks) == (0, 0.0, {})
    occupancy.check()


def test_nodes_that_are_given_back_ask_for_a_plan_only_where_a_task_waits(occupancy: Occupancy) -> None:
    occupancy.take(a_task_of(1, nodes=2))
    occupancy.give_back(a_task_of(1, nodes=2))
    assert (occupancy.held, occupancy.stirred) == (0.0, False)
    occupancy.put(None, a_task_of(2))
    occupancy.stirred = False
    occupancy.take(a_task_of(1))
    occupancy.give_back(a_task_of(1))
    assert occupancy.stirred


@pytest.mark.parametrize("wrong", ["waiting", "wanted", "held"])
def test_a_count_that_does_not_follow_from_the_tasks_is_found(occupancy: Occupancy, wrong: str) -> None:
    occupancy.put(None, a_task_of(1))
    occupancy.check()
    setattr(occupancy, wrong, getattr(occupancy, wrong) + 1)
    with pytest.raises(AssertionError, match="counted"):
        occupancy.check()


def test_a_task_that_nobody_counted_is_found(occupancy: Occupancy) -> None:
    occupancy.tasks[TaskId(1)] = a_task_of(1)
    with pytest.raises(AssertionError, match="there are"):
        occupancy.check()
