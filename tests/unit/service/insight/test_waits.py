"""Who has waited longest, and who holds and wants how much."""

from __future__ import annotations

from datetime import timedelta

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.model.verdicts import Verdict, VerdictKind
from hai_scheduler.core.tallies.families import OTHER
from hai_scheduler.service.insight.waits import MOST_USERS, demand_of
from kit.builders import a_task, at

NOW = at(1000)


def test_the_longest_wait_of_each_group_and_level_counts() -> None:
    tasks = [
        a_task(1, waiting_since=at(100)),
        a_task(2, waiting_since=at(40)),
        a_task(3, waiting_since=at(10), priority=Priority.HIGH),
        a_task(4, waiting_since=at(900), group="dev"),
        a_task(5, waiting_since=at(0), held=True),
        a_task(6, waiting_since=at(0), not_before=NOW + timedelta(seconds=1)),
        a_task(7, state=TaskState.RUNNING),
    ]
    assert demand_of(tasks, {}, NOW).waits == {
        ("training", Priority.NORMAL): 960,
        ("training", Priority.HIGH): 990,
        ("dev", Priority.NORMAL): 100,
    }


def test_a_task_of_auto_waits_at_the_level_of_its_verdict_and_a_back_off_that_is_over_does_not_count() -> None:
    task = a_task(1, priority=None, waiting_since=at(940), not_before=at(940))
    verdicts = {task.id: Verdict(kind=VerdictKind.CAPACITY, priority=Priority.LOW)}
    assert demand_of([task], verdicts, NOW).waits == {("training", Priority.LOW): 60}


def test_users_hold_and_wait_for_nodes_and_only_the_first_are_named() -> None:
    tasks = [a_task(1, user="ann", nodes=3, state=TaskState.RUNNING), a_task(2, user="ann", nodes=50)]
    tasks += [a_task(number, user=f"user-{number}", nodes=2) for number in range(3, MOST_USERS + 5)]
    found = demand_of(tasks, {}, NOW).users
    assert (found["ann", "held"], found["ann", "waiting"]) == (3, 50)
    assert len({user for user, _ in found}) == MOST_USERS + 1
    assert found[OTHER, "waiting"] == 2 * 3
    assert sum(found.values()) == sum(task.nodes for task in tasks)
