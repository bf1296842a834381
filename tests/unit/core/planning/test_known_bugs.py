"""Faults that other schedulers have had, as scenarios: none of them may happen here.

Each names where it was reported. The worlds are finite and their tasks endless, so that a loop would show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind
from kit.builders import a_node, a_quota, a_task, at, some_nodes
from unit.core.closed_world import World
from unit.core.tables import HIGH, LOW, NORMAL, decide, runs, snapshot, starts, suspends, waits

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


def a_day_of(*tasks: Task, nodes: int | tuple[Node, ...], policy: Policy | None = None, **world: object) -> World:
    """The world after a day: starting takes 20 s, leaving a minute."""
    made = some_nodes(nodes) if isinstance(nodes, int) else nodes
    fields = {"starts_in": timedelta(seconds=20), "leaves_in": lambda task: MINUTE, **world}
    there = World(made, at(), policy or Policy(), **fields)
    there.submit(*tasks)
    return there.run(DAY)


def preemptions(world: World) -> list[tuple[int, int | None]]:
    """The ids of the tasks that were preempted, each with the beneficiary."""
    return [(told.task_id, told.beneficiary) for told in world.told if told.reason is Reason.PREEMPTED]


def running(world: World) -> set[int]:
    return {task.id for task in world.tasks.values() if task.state.live}


def task(id: int, nodes: int = 1, *, after: float = 0, **fields: object) -> Task:  # noqa: A002
    """An endless task, submitted `after` minutes after the begin, of a user of its own unless `fields` name one."""
    submitted = at(minutes=after)
    return a_task(id, nodes=nodes, **{"user": f"user{id}", "submitted_at": submitted, **fields})


def test_a_victim_is_not_started_again_before_the_one_it_left_for() -> None:
    """kubernetes-sigs/kueue#3779: a best-effort workload with less use was admitted again and again, and preempted.

    Users who have used much, with priority, against one who has used nothing.
    """
    world = a_day_of(
        task(1, 5, user="tenant", priority=HIGH),
        task(2, 1, user="best-effort", priority=LOW),
        task(3, 1, user="tenant", priority=HIGH, after=10),
        nodes=6,
    )
    assert preemptions(world) == [(2, 3)]
    assert running(world) == {1, 3}


def test_equals_that_come_after_one_another_do_not_drive_the_same_one_out_again_and_again() -> None:
    """kubernetes-sigs/kueue#7101: one workload was preempted 33 times for others that did not fit in the end.

    Four gangs of two fill the cluster; another user asks for 6, 5, 4 and 3.
    """
    first = [task(n, 2, user="proj-1") for n in range(1, 5)]
    second = [task(10 + size, size, user="proj-2", after=5 * (7 - size)) for size in (6, 5, 4, 3)]
    world = a_day_of(*first, *second, nodes=8)
    times = Counter(told.task_id for told in world.told)
    assert max(times.values()) <= DAY / Policy().slice
    for told in world.told:
        assert told.reason is Reason.TURN_OVER
        assert told.after >= Policy().min_run
        assert any(wait.task_id == told.beneficiary and wait.until >= told.at for wait in world.waits)
    assert {wait.task_id for wait in world.waits} >= {14, 13}, "those that fit beside others have their turns"


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1_000_000.0], ids=["next to nothing", "one", "very much"])
def test_weights_that_make_all_shares_alike_do_not_make_a_loop(weight: float) -> None:
    """kubernetes-sigs/kueue#6774: with weights of 0, or very large ones, two queues preempted each other endlessly."""
    policy = Policy(weights={"user1": weight, "user2": weight})
    world = a_day_of(task(1, 5), task(2, 5), nodes=8, policy=policy)
    assert len(world.told) <= DAY / policy.slice
    assert all(told.after >= policy.min_run for told in world.told)
    assert {told.task_id for told in world.told} == {1, 2}, "they take turns"


def test_a_preemptor_that_is_itself_next_to_leave_does_not_make_a_loop_of_three() -> None:
    """kubernetes-sigs/kueue#14543: with several victims of several owners, two workloads preempted each other."""
    tasks = (
        task(1, 3, user="p"),
        task(2, 2, user="p", after=1),
        task(3, 3, user="t", after=2),
        task(4, 1, user="p", after=3),
        task(5, 4, user="q", after=4),
    )
    world = a_day_of(*tasks, nodes=6)
    assert all(told.after >= Policy().min_run for told in world.told)
    assert len(world.told) <= 5 * DAY / Policy().slice
    assert {wait.task_id for wait in world.waits} == {1, 2, 3, 4, 5}
    assert not any(is_own_equal(world, told.task_id, told.beneficiary) for told in world.told)


def is_own_equal(world: World, first: int, second: int | None) -> bool:
    return second is not None and world.tasks[first].user == world.tasks[second].user


@pytest.mark.parametrize("gpus", [None, 3], ids=["whole nodes", "parts"])
def test_a_user_whose_own_tasks_hold_everything_makes_no_endless_search(gpus: int | None) -> None:
    """kubernetes-sigs/kueue#12541: a queue on its own was yielded as a target without end, and the scheduler hung."""
    alone = {"user": "alone", "gpus": gpus}
    there = [runs(n, f"node-{n}", minutes=600, user="alone") for n in range(1, 201)]
    waiting = [waits(n, n % 3 + 1, **alone) for n in range(1_000, 1_300)]
    made = decide(snapshot(*there, *waiting, nodes=200))
    assert made.decisions == ()
    assert made.work < 3_000, "the queue is looked at, and the turns, but not all turns for each of the queue"


def test_a_task_that_can_never_fit_before_one_that_can_takes_no_nodes_of_others() -> None:
    """kubernetes-sigs/kueue#6947: a workload that did not fit had a running one preempted over and over."""
    quotas = (*(a_quota("public", priority=level, limit=3) for level in Priority),)
    world = a_day_of(
        task(1, 1, user="b", priority=LOW),
        task(2, 4, user="a", after=1),
        task(3, 3, user="a", after=2),
        nodes=3,
        quotas=quotas,
    )
    assert preemptions(world) == [(1, 3)]
    assert world.verdicts.kind_of(world.tasks[2].id) is VerdictKind.NEVER
    assert running(world) == {3}


@pytest.mark.parametrize(
    "leaves_in",
    [lambda task: MINUTE * task.id, lambda task: MINUTE * (9 - task.id)],
    ids=["the first leaves first", "the last leaves first"],
)
def test_victims_that_leave_one_after_another_do_not_take_their_nodes_back(
    leaves_in: Callable[[Task], timedelta],
) -> None:
    """kubernetes-sigs/kueue#13797: victims that had left early were admitted again while others still were leaving."""
    tasks = [task(n, 1, priority=LOW, grace=MINUTE * 10) for n in range(1, 5)]
    world = a_day_of(*tasks, task(8, 4, priority=HIGH, after=5), nodes=4, leaves_in=leaves_in)
    assert sorted(preemptions(world)) == [(n, 8) for n in range(1, 5)]
    assert running(world) == {8}


def test_nodes_of_victims_are_not_given_out_before_they_are_free_nor_more_of_them_than_are_needed() -> None:
    """HFAiLab/hai-platform: its matcher took as many nodes again from running tasks as the gang needed in all.

    It had found two free ones already; and it started the gang while the victims still had seconds to live.
    """
    there = [runs(n, f"node-{n}", level=LOW) for n in range(1, 5)]
    made = decide(snapshot(*there, waits(9, 4, priority=HIGH), nodes=6))
    assert len(suspends(made)) == 2
    assert starts(made) == {}


def test_a_gang_for_which_nothing_was_found_is_not_started_on_nodes_of_its_last_run() -> None:
    """HFAiLab/hai-platform: a task without nodes was marked as started, with the nodes that it had had before."""
    world = a_day_of(task(1, 2, priority=LOW), task(2, 2, priority=HIGH, after=10), nodes=2)
    assert [wait.task_id for wait in world.waits] == [1, 2]
    assert running(world) == {2}
    assert preemptions(world) == [(1, 2)]


def test_a_large_task_at_the_head_does_not_have_small_ones_suspended_that_it_cannot_use() -> None:
    """HFAiLab/hai-platform: all behind a head that could not start were held up, and running ones suspended."""
    there = [runs(n, f"node-{n}", minutes=600) for n in (1, 2)]
    nodes = (*some_nodes(3), a_node("node-4", mark=NodeMark.CORDONED))
    made = decide(snapshot(*there, waits(3, 4, priority=HIGH), waits(4), nodes=nodes))
    assert suspends(made) == {}
    assert set(starts(made)) == {4}


@pytest.mark.parametrize("level", [LOW, NORMAL])
def test_a_task_of_no_quota_is_not_started_and_suspended_by_turns(level: Priority) -> None:
    """Quota that one row gives and another takes does not let a task in and out."""
    quotas: tuple[Quota, ...] = (
        a_quota("public", priority=level, limit=1),
        a_quota("public", priority=HIGH, limit=1),
    )
    tasks = (task(1, user="ann", priority=None), task(2, user="ann", priority=None), task(3, user="ann", priority=None))
    world = a_day_of(*tasks, nodes=(a_node("a"), a_node("b"), a_node("c")), quotas=quotas)
    assert world.told == []
    assert len(running(world)) == 2
