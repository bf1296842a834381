"""Nodes for one waiting task among those that are open to it (F1, F2, B2, B3)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.pending import PendingTask
from hai_scheduler.core.planning.placer import Placer
from hai_scheduler.core.planning.plan_cache import PlanCache
from kit.builders import a_node
from kit.snapshots import snapshots
from unit.core.planning.plan_parts import a_group, at_its_turn
from unit.core.tables import HIGH, LOW, NORMAL, POLICY, leaving, runs, shares, waits

TWO_ZONES = tuple(a_node(f"{zone}{n}", zone=zone, leaf=zone) for zone in "ab" for n in (1, 2))


@given(snapshots())
@settings(max_examples=100, deadline=None)
def test_the_short_ways_find_what_a_look_at_every_node_finds(shot: Snapshot) -> None:
    """Most tasks are placed from counts and pools, without a look at any node."""
    cache = PlanCache()
    cache.update(shot, POLICY, Discipline.HAI)
    for group in {task.group for task in shot.tasks}:
        state = GroupState(group, shot, POLICY, Discipline.HAI, cache)
        placer = Placer(state)
        for task in state.pending.tasks.values():
            priority = task.priority or Priority.NORMAL
            found = placer.now(PendingTask(task, priority, 0.0), passing=False)
            names = state.nodes.now(task, priority)
            across = task.nodes > 1 and placer.may_cross(task, priority, soon=False)
            assert (found is None) is (placer.choose(names, task, across) is None)
            if found is not None:
                assert len(set(found)) == task.nodes
                assert set(found) <= set(names)
                assert across or not state.node_group.spans_zones(found)
        state.capacity.check()


#: sentence, GPUs that are held on three nodes, nodes and GPUs that are asked for, where it goes
SHARED = [
    ("the fullest node that still has room", {"node-1": 2, "node-2": 5}, 1, 2, ("node-2",)),
    ("a tie by name", {"node-1": 2, "node-2": 2}, 1, 2, ("node-1",)),
    ("an empty node where no shared one has room", {"node-1": 5, "node-2": 6}, 1, 4, ("node-3",)),
    ("several nodes", {"node-1": 2, "node-2": 7}, 2, 2, ("node-1", "node-3")),
    ("a whole node among shared ones", {"node-1": 1, "node-2": 1}, 1, None, ("node-3",)),
    ("nowhere", {"node-1": 5, "node-2": 6, "node-3": 5}, 1, 4, None),
    ("too few nodes", {"node-1": 5, "node-2": 6}, 2, 4, None),
]


@pytest.mark.parametrize(
    ("held", "nodes", "gpus", "chosen"), [row[1:] for row in SHARED], ids=[row[0] for row in SHARED]
)
def test_f1_u2_parts_of_nodes_go_where_they_fit_best(
    held: dict[str, int], nodes: int, gpus: int | None, chosen: tuple[str, ...] | None
) -> None:
    tasks = [shares(n, {name: tuple(range(count))}) for n, (name, count) in enumerate(held.items(), 1)]
    state = a_group(*tasks, waits(9, nodes, gpus=gpus), nodes=3)
    assert Placer(state).now(at_its_turn(state, 9), passing=False) == chosen


def test_it_takes_nothing() -> None:
    state = a_group(waits(1, 2), nodes=2)
    placer = Placer(state)
    first = placer.now(at_its_turn(state, 1), passing=False)
    assert placer.now(at_its_turn(state, 1), passing=False) == first == ("node-1", "node-2")


def test_b2_nodes_that_are_reserved_are_for_those_who_pass() -> None:
    state = a_group(waits(1), nodes=1)
    state.capacity.reserve(["node-1"])
    placer = Placer(state)
    assert placer.now(at_its_turn(state, 1), passing=False) is None
    assert placer.now(at_its_turn(state, 1), passing=True) == ("node-1",)


def test_b3_nodes_that_are_promised_to_another_are_taken_last_and_only_by_a_higher_task() -> None:
    """A gang of two: one node is promised to task 8, two are free."""
    free = a_group(waits(1, 2, priority=HIGH), waits(8), waits(2, 3, priority=HIGH), waits(3, 3), nodes=3)
    free.capacity.promise(["node-1"], waits(8), NORMAL)
    placer = Placer(free)
    assert placer.now(at_its_turn(free, 1), passing=False) == ("node-2", "node-3")
    assert placer.now(at_its_turn(free, 2), passing=False) == ("node-1", "node-2", "node-3")
    assert placer.now(at_its_turn(free, 3), passing=False) is None


def test_b3_a_task_goes_to_its_own_promised_nodes_first() -> None:
    task = waits(1, promise=frozenset({"node-2"}))
    state = a_group(task, nodes=2)
    state.capacity.promise(["node-2"], task, NORMAL)
    assert Placer(state).now(at_its_turn(state, 1), passing=False) == ("node-2",)


@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        ((leaving(runs(1, "node-1"), 9),), ("node-1", "node-2")),
        ((runs(1, "node-1"),), None),
        ((), ("node-1", "node-2")),
    ],
    ids=["one is being freed", "one is held by a task that stays", "both are free"],
)
def test_b3_promised_nodes_are_kept_if_each_is_free_or_being_freed(tasks: tuple, found: tuple[str, ...] | None) -> None:
    promised = waits(9, 2, promise=frozenset({"node-1", "node-2"}))
    state = a_group(*tasks, promised, nodes=3)
    assert Placer(state).promised(promised, NORMAL) == found


@pytest.mark.parametrize(("most", "found"), [(0, None), (1, ("a1", "a2", "b1"))])
def test_f2_zones_are_spanned_as_the_policy_allows(most: int, found: tuple[str, ...] | None) -> None:
    state = a_group(waits(1, 3), policy=Policy(max_cross_zone=most), nodes=TWO_ZONES)
    assert Placer(state).now(at_its_turn(state, 1), passing=False) == found


def test_f2_a_place_that_is_being_given_up_counts_as_free_only_later() -> None:
    spans = leaving(runs(1, "a1", "b1", level=LOW), 9)
    state = a_group(spans, waits(9, 2), policy=Policy(max_cross_zone=1), nodes=TWO_ZONES)
    placer = Placer(state)
    assert not placer.may_cross(waits(9, 2), NORMAL, soon=False)
    assert placer.may_cross(waits(9, 2), NORMAL, soon=True)
    assert placer.now(at_its_turn(state, 9), passing=False) is None
