"""Finite sets of endless equals, for two days: no task starves, and no two tasks preempt each other again and again."""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.turns import slice_of
from kit.builders import a_node, a_task, at
from unit.core.closed_world import Told, World

MORE = int(os.environ.get("HAI_EXAMPLES", "1"))
WORLDS = settings(max_examples=12 * MORE, deadline=None)
TWO_DAYS = timedelta(hours=48)
HOUR = timedelta(hours=1)
GRACE = timedelta(seconds=120)
SECOND = timedelta(seconds=1)
SEEDS = st.integers(0, 1 << 32)


def a_world(seed: int, policy: Policy) -> World:
    """1 to 4 nodes in one zone or two, and 2 to 8 endless tasks at NORMAL, each of a user of its own."""
    random = Random(seed)
    zones = random.choice([1, 1, 2])
    nodes = tuple(a_node(f"n{n}", zone=f"z{n % zones}", gpus=4) for n in range(random.randint(1, 4)))
    starts_in, leaves = timedelta(seconds=random.choice([0, 20])), random.choice([0, 5, 60, 119])
    world = World(nodes, at(), policy, starts_in=starts_in, leaves_in=lambda _: timedelta(seconds=leaves))
    world.submit(*(_endless(number, len(nodes), random) for number in range(1, random.randint(2, 8) + 1)))
    return world


def _endless(number: int, nodes: int, random: Random) -> Task:
    return a_task(
        number,
        user=f"user{number}",
        nodes=random.randint(1, nodes),
        gpus=random.choice([None, None, 1, 2, 3]),
        submitted_at=at(minutes=random.choice([0, 0, 1, 17, 200])),
    )


def longest_slice(policy: Policy) -> timedelta:
    """The slice at the highest level."""
    return slice_of(a_task(served=policy.long_after), policy)


def bound(world: World) -> timedelta:
    """The longest wait that the rules allow for a task among equals.

    After `starve_after` the task counts as level 0 (O2), and users whose tasks were started meanwhile have more use
    than its own user (O3). So each competitor goes before it at most once. Each competitor, and the task
    itself, may have to wait for one turn, of the longest slice (P2) or the hour of P7, and for its grace.
    """
    each = max(longest_slice(world.policy), HOUR) + GRACE + world.starts_in
    return world.policy.starve_after + len(world.tasks) * each


@given(SEEDS)
@WORLDS
def test_every_equal_that_fits_starts_within_the_bound_whatever_the_others_are(seed: int) -> None:
    world = a_world(seed, Policy()).run(TWO_DAYS)
    assert world.tasks
    slow = [wait for wait in (*world.waits, *world.still_waiting()) if wait.length > bound(world)]
    assert slow == []


@given(SEEDS)
@WORLDS
def test_no_turn_ends_for_an_equal_before_min_run_and_no_pair_drives_each_other_out_more_often(seed: int) -> None:
    policy = Policy()
    world = a_world(seed, policy).run(TWO_DAYS)
    pairs: defaultdict[frozenset[TaskId | None], list[datetime]] = defaultdict(list)
    for told in world.told:
        assert told.reason is Reason.TURN_OVER
        assert told.after >= policy.min_run
        pairs[frozenset((told.task_id, told.beneficiary))].append(told.at)
    for times in pairs.values():
        assert all(second - first >= policy.min_run for first, second in pairwise(times))


@given(SEEDS, st.sampled_from([1, 2, 4]))
@WORLDS
def test_p7_holds_when_turns_may_be_tiny(seed: int, most: int) -> None:
    minute = timedelta(minutes=1)
    policy = Policy(
        min_run=minute, slice=minute, slice_growth=1, long_after=minute, min_run_per_switch=0, max_rotations=most
    )
    world = a_world(seed, policy).run(timedelta(hours=6))
    by_task: defaultdict[TaskId, list[Told]] = defaultdict(list)
    for told in world.told:
        by_task[told.task_id].append(told)
    for rotations in by_task.values():
        for first, one_more in zip(rotations, rotations[most:], strict=False):
            assert one_more.at - first.at >= HOUR, f"more than {most} times within an hour"


@pytest.mark.parametrize(("nodes", "tasks"), [(1, 2), (1, 5), (2, 3), (3, 8)])
def test_endless_equals_of_one_size_share_the_nodes_evenly(nodes: int, tasks: int) -> None:
    world = World(tuple(a_node(f"n{n}") for n in range(nodes)), at())
    world.submit(*(a_task(n, user=f"user{n}") for n in range(1, tasks + 1)))
    world.run(TWO_DAYS)
    service = [_service(task, world.now) for task in world.tasks.values()]
    fair = TWO_DAYS * nodes / tasks
    assert all(abs(one - fair) <= longest_slice(world.policy) * 2 for one in service), service


def _service(task: Task, now: datetime) -> timedelta:
    run = task.live_run
    return task.served + (now - run.running_at if run is not None and run.running_at else timedelta(0))


def test_a_gang_as_large_as_the_cluster_has_its_turns_among_small_ones() -> None:
    world = World(tuple(a_node(f"n{n}") for n in range(4)), at(), leaves_in=lambda task: GRACE)
    world.submit(a_task(1, user="gang", nodes=4), *(a_task(n, user=f"user{n}") for n in range(2, 8)))
    world.run(TWO_DAYS)
    assert len([wait for wait in world.waits if wait.task_id == 1]) >= 5
    assert max(wait.length for wait in world.waits) <= bound(world)


def test_a_world_without_competition_is_left_alone() -> None:
    world = World(tuple(a_node(f"n{n}") for n in range(3)), at())
    world.submit(*(a_task(n, user=f"user{n}") for n in (1, 2, 3)))
    world.run(TWO_DAYS)
    assert (world.told, len(world.waits)) == ([], 3)
