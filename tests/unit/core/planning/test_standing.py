"""The unfinished tasks of a node group, sorted out, and their nodes as a plan meets them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from builders import a_node, some_nodes
from hai_scheduler.core.capacity.spots import Spots
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.nodes.floor import Floor
from hai_scheduler.core.ordering.rules import HaiRules
from hai_scheduler.core.ordering.user_use import UserUse
from hai_scheduler.core.planning.standing import Standing
from unit.core.tables import NORMAL, NOW, POLICY, for_minutes, runs, shares, turn_of, waits

RULES = HaiRules(POLICY, NOW, UserUse((), (), POLICY, NOW), {})


def test_turns_are_those_of_runs_that_hold_nodes_in_order_of_id() -> None:
    standing, floor = Standing(), Floor(some_nodes(3))
    for task in (runs(2, "node-2"), runs(1, "node-1", minutes=5), waits(3)):
        standing.add(task)
    turns = standing.turns(POLICY, NOW, floor)
    assert list(turns) == [1, 2]
    assert turns[1].floor_at == turns[1].run.turn_start + POLICY.min_run
    assert standing.turns(POLICY, NOW, floor)[1] is not turns[1], "a plan changes its turns"


def test_what_turns_hold_is_found_again_when_the_nodes_have_changed() -> None:
    standing = Standing()
    standing.add(runs(1, "node-1", "node-2"))
    standing.add(shares(2, {"node-3": (0, 1)}))
    here = Floor(some_nodes(3))
    assert [(turn.share, turn.crosses) for turn in standing.turns(POLICY, NOW, here).values()] == [
        (2, False),
        (0.25, False),
    ]
    zones = [a_node(f"node-{number}", zone=f"zone-{number}", gpus=4) for number in (1, 2, 3)]
    there = standing.turns(POLICY, NOW, Floor(zones))
    assert [(turn.share, turn.crosses) for turn in there.values()] == [(2, True), (0.5, False)]


def test_who_is_special_held_or_auto_is_kept_apart() -> None:
    standing = Standing()
    tasks = {
        "plain": waits(1),
        "auto": waits(2, priority=None),
        "promised": waits(3, promise=frozenset({"node-1"})),
        "unlucky": waits(4, priority=None, avoid=frozenset({"node-1"})),
        "held": waits(5, held=True),
    }
    for task in tasks.values():
        standing.add(task)
    standing.line_up(RULES)
    assert [part.tasks() for part in standing.plain(NORMAL).values()] == [[tasks["plain"]]]
    assert [part.tasks() for _, part in standing.auto()] == [[tasks["auto"]]]
    assert standing.special.keys() == {3, 4}
    assert standing.held.keys() == {5}
    assert standing.waiting.keys() == {1, 2, 3, 4}
    assert standing.users() == {"user1", "user2", "user3", "user4"}
    for task in tasks.values():
        standing.remove(task)
    standing.line_up(RULES)
    assert not standing
    assert not any(standing.plain(level) for level in Priority)


def test_what_an_earlier_plan_was_given_stays_as_it_was() -> None:
    standing = Standing()
    standing.add(waits(1, user="ann"))
    standing.line_up(RULES)
    before = standing.plain(NORMAL)
    standing.add(waits(2, user="ann"))
    standing.line_up(RULES)
    assert [len(part.tasks()) for part in before.values()] == [1]
    assert [len(part.tasks()) for part in standing.plain(NORMAL).values()] == [2]


def test_a_task_that_has_gone_does_not_rise() -> None:
    """Otherwise it would rise, because its rank changes with time (O2)."""
    standing, old = Standing(), waits(1, served=for_minutes(600))
    standing.add(old)
    standing.line_up(RULES)
    standing.remove(old)
    standing.add(new := replace(old, waiting_since=NOW + timedelta(hours=1), suspensions=9))
    standing.line_up(RULES)
    later = NOW + POLICY.starve_after + timedelta(minutes=1)
    standing.line_up(HaiRules(POLICY, later, UserUse((), (), POLICY, later), {}))
    assert [(rank, part.tasks()) for (rank, _), part in standing.plain(NORMAL).items()] == [(2, [new])]


# -- nodes --------------------------------------------------------------------------------------------


def test_a_node_is_made_when_it_is_asked_for() -> None:
    gang = turn_of(runs(1, "node-1", "node-9"))
    spots = Spots(Floor(some_nodes(3)), [gang])
    assert len(spots) == 0
    assert (spots["node-1"].free, spots["node-1"].turns) == ([], [gang])
    assert (spots["node-2"].free, spots["node-2"].turns) == (list(range(8)), [])
    assert spots.find("node-9") is None, "the gang still holds it, but it is no more"
    assert spots.find("node-2") is spots["node-2"]
    assert [spot.name for spot in spots.all()] == ["node-1", "node-2", "node-3"]
    with pytest.raises(KeyError):
        spots["node-9"]


def test_nodes_of_gangs_are_those_that_are_there_and_in_order() -> None:
    nodes = (a_node("node-1"), a_node("node-2", mark=NodeMark.CORDONED), a_node("node-3"))
    assert Spots(Floor(nodes), [turn_of(runs(1, "node-1", "node-2", "node-9"))]).of_gangs() == {"node-1"}


def test_a_group_counts_its_nodes_by_their_gpus() -> None:
    floor = Floor([a_node("b", gpus=8), a_node("a", gpus=2), a_node("c", gpus=8, mark=NodeMark.DRAINING)])
    assert list(floor.nodes) == ["a", "b", "c"]
    assert (floor.gpus_per_node, floor.mixed, floor.draining) == (8, True, {"c"})
    assert [floor.most(gpus) for gpus in (None, 2, 3, 9)] == [3, 3, 2, 0]
    assert floor.can_avoid(waits(1, 1, avoid=frozenset({"b"})))
    assert not floor.can_avoid(waits(1, 1, gpus=4, avoid=frozenset({"b"}))), "the other large one is being emptied"
