"""The unfinished tasks of a node group, sorted out, and their nodes as a plan meets them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.capacity.node_states import NodeStates
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.rules import HaiRules
from hai_scheduler.core.planning.task_index import TaskIndex
from kit.builders import a_node, some_nodes
from unit.core.tables import NORMAL, NOW, POLICY, for_minutes, runs, shares, turn_of, waits

RULES = HaiRules(POLICY, NOW, FairShare((), (), POLICY, NOW), {})


def test_turns_are_those_of_runs_that_hold_nodes_in_order_of_id() -> None:
    task_index, node_group = TaskIndex(), NodeGroup(some_nodes(3))
    for task in (runs(2, "node-2"), runs(1, "node-1", minutes=5), waits(3)):
        task_index.add(task)
    turns = task_index.turns(POLICY, NOW, node_group)
    assert list(turns) == [1, 2]
    assert turns[1].earliest_end == turns[1].run.turn_start + POLICY.min_run
    assert task_index.turns(POLICY, NOW, node_group)[1] is not turns[1], "a plan changes its turns"


def test_what_turns_hold_is_found_again_when_the_nodes_have_changed() -> None:
    task_index = TaskIndex()
    task_index.add(runs(1, "node-1", "node-2"))
    task_index.add(shares(2, {"node-3": (0, 1)}))
    here = NodeGroup(some_nodes(3))
    assert [(turn.share, turn.crosses) for turn in task_index.turns(POLICY, NOW, here).values()] == [
        (2, False),
        (0.25, False),
    ]
    zones = [a_node(f"node-{number}", zone=f"zone-{number}", gpus=4) for number in (1, 2, 3)]
    there = task_index.turns(POLICY, NOW, NodeGroup(zones))
    assert [(turn.share, turn.crosses) for turn in there.values()] == [(2, True), (0.5, False)]


def test_who_is_special_held_or_auto_is_kept_apart() -> None:
    task_index = TaskIndex()
    tasks = {
        "plain": waits(1),
        "auto": waits(2, priority=None),
        "promised": waits(3, promise=frozenset({"node-1"})),
        "unlucky": waits(4, priority=None, avoid=frozenset({"node-1"})),
        "held": waits(5, held=True),
    }
    for task in tasks.values():
        task_index.add(task)
    task_index.line_up(RULES)
    assert [bucket.tasks() for bucket in task_index.plain(NORMAL).values()] == [[tasks["plain"]]]
    assert [bucket.tasks() for _, bucket in task_index.auto()] == [[tasks["auto"]]]
    assert task_index.special.keys() == {3, 4}
    assert task_index.held.keys() == {5}
    assert task_index.waiting.keys() == {1, 2, 3, 4}
    assert task_index.users() == {"user1", "user2", "user3", "user4"}
    for task in tasks.values():
        task_index.remove(task)
    task_index.line_up(RULES)
    assert not task_index
    assert not any(task_index.plain(level) for level in Priority)


def test_what_an_earlier_plan_was_given_stays_as_it_was() -> None:
    task_index = TaskIndex()
    task_index.add(waits(1, user="ann"))
    task_index.line_up(RULES)
    before = task_index.plain(NORMAL)
    task_index.add(waits(2, user="ann"))
    task_index.line_up(RULES)
    assert [len(bucket.tasks()) for bucket in before.values()] == [1]
    assert [len(bucket.tasks()) for bucket in task_index.plain(NORMAL).values()] == [2]


def test_a_task_that_has_gone_does_not_rise() -> None:
    """Otherwise it would rise, because its rank changes with time (O2)."""
    task_index, old = TaskIndex(), waits(1, served=for_minutes(600))
    task_index.add(old)
    task_index.line_up(RULES)
    task_index.remove(old)
    task_index.add(new := replace(old, waiting_since=NOW + timedelta(hours=1), suspensions=9))
    task_index.line_up(RULES)
    later = NOW + POLICY.starve_after + timedelta(minutes=1)
    task_index.line_up(HaiRules(POLICY, later, FairShare((), (), POLICY, later), {}))
    assert [(rank, bucket.tasks()) for (rank, _), bucket in task_index.plain(NORMAL).items()] == [(2, [new])]


def test_a_task_that_has_gone_and_did_not_come_back_is_not_looked_for_when_it_would_have_risen() -> None:
    later = NOW + POLICY.starve_after + timedelta(minutes=1)
    then = HaiRules(POLICY, later, FairShare((), (), POLICY, later), {})
    for lined_up_between in (False, True):
        task_index, old = TaskIndex(), waits(1, served=for_minutes(600))
        task_index.add(old)
        task_index.add(stays := waits(2, served=for_minutes(600)))
        task_index.line_up(RULES)
        task_index.remove(old)
        if lined_up_between:
            task_index.line_up(RULES)
        task_index.line_up(then)
        assert {rank: bucket.tasks() for (rank, _), bucket in task_index.plain(NORMAL).items()} == {0: [stays]}


def test_a_task_that_came_and_went_between_two_plans_has_no_turn() -> None:
    task_index, brief = TaskIndex(), runs(1, "node-1")
    task_index.add(brief)
    task_index.add(runs(2, "node-2"))
    task_index.remove(brief)
    assert task_index.turns(POLICY, NOW, NodeGroup(some_nodes(3))).keys() == {2}


def test_auto_tasks_of_different_sizes_are_kept_apart() -> None:
    """Q4: the size decides at which priority there is quota for a task."""
    task_index = TaskIndex()
    for task in (waits(1, user="ann", priority=None), waits(2, 2, user="ann", priority=None)):
        task_index.add(task)
    task_index.line_up(RULES)
    assert sorted(len(bucket) for _, bucket in task_index.auto()) == [1, 1]


# -- nodes --------------------------------------------------------------------------------------------


def test_a_node_is_made_when_it_is_asked_for() -> None:
    gang = turn_of(runs(1, "node-1", "node-9"))
    node_states = NodeStates(NodeGroup(some_nodes(3)), [gang])
    assert len(node_states) == 0
    assert (node_states["node-1"].free, node_states["node-1"].turns) == ([], [gang])
    assert (node_states["node-2"].free, node_states["node-2"].turns) == (list(range(8)), [])
    assert node_states.find("node-9") is None, "the gang still holds it, but it is no more"
    assert node_states.find("node-2") is node_states["node-2"]
    assert [node_state.name for node_state in node_states.all()] == ["node-1", "node-2", "node-3"]
    with pytest.raises(KeyError):
        node_states["node-9"]


def test_nodes_of_gangs_are_those_that_are_there_and_in_order() -> None:
    nodes = (a_node("node-1"), a_node("node-2", mark=NodeMark.CORDONED), a_node("node-3"))
    assert NodeStates(NodeGroup(nodes), [turn_of(runs(1, "node-1", "node-2", "node-9"))]).of_gangs() == {"node-1"}


def test_a_group_counts_its_nodes_by_their_gpus() -> None:
    node_group = NodeGroup([a_node("b", gpus=8), a_node("a", gpus=2), a_node("c", gpus=8, mark=NodeMark.DRAINING)])
    assert list(node_group.nodes) == ["a", "b", "c"]
    assert (node_group.gpus_per_node, node_group.mixed, node_group.draining) == (8, True, {"c"})
    assert [node_group.most(gpus) for gpus in (None, 2, 3, 9)] == [3, 3, 2, 0]
    assert node_group.can_avoid(waits(1, 1, avoid=frozenset({"b"})))
    assert not node_group.can_avoid(waits(1, 1, gpus=4, avoid=frozenset({"b"}))), "the other large one is being emptied"
