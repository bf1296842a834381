"""What the steps of one group's plan begin with."""

from __future__ import annotations

from hai_scheduler.core.model.decisions import Quarantine
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from kit.builders import a_node, a_quota, a_strike, some_nodes
from unit.core.planning.plan_parts import a_group
from unit.core.tables import HIGH, NORMAL, leaving, runs, waits

STRIKES = tuple(a_strike("node-1", task_id=TaskId(n), at=leaving(runs(1, "n"), None).run.notice.at, user=f"u{n}")
                for n in (7, 8, 9))  # fmt: skip


def test_h3_a_node_that_this_plan_quarantines_is_closed_to_its_later_steps() -> None:
    state = a_group(waits(1), nodes=10, strikes=STRIKES)
    assert state.decisions == [Quarantine(node="node-1", tasks=(TaskId(7), TaskId(8), TaskId(9)))]
    assert state.node_group.nodes["node-1"].mark is NodeMark.QUARANTINED
    assert "node-1" not in state.nodes.now(waits(1), NORMAL)
    assert not a_group(waits(1), nodes=10).decisions


def test_where_no_task_waits_nothing_is_counted() -> None:
    """The plan looks for turns that must end, and needs no node."""
    state = a_group(runs(1, "node-1"))
    assert [turn.task.id for turn in state.turns.values()] == [1]
    assert list(state.capacity.node_states.all()) == []
    assert list(state.pending.tasks) == []


def test_where_a_task_waits_gpus_and_quota_of_those_that_run_are_counted() -> None:
    rows = (a_quota("public", priority=NORMAL, limit=2),)
    state = a_group(runs(1, "node-1", user="ann"), waits(2, user="ann"), waits(3, 2, user="ann"), quotas=rows)
    assert state.nodes.now(waits(2), NORMAL) == ["node-2", "node-3", "node-4"]
    assert state.in_quota(waits(2, user="ann"), NORMAL)
    assert not state.in_quota(waits(3, 2, user="ann"), NORMAL)
    assert state.in_quota(waits(3, 2, user="bob"), NORMAL), "each user has as much"
    assert not state.in_quota(waits(2, user="ann"), HIGH), "no row"


def test_quota_is_counted_for_a_held_task_too() -> None:
    """Its priority may depend on what is left (Q4)."""
    rows = (a_quota("public", priority=NORMAL, limit=1),)
    state = a_group(runs(1, "node-1", user="ann"), waits(2, user="ann", held=True), quotas=rows)
    assert not state.in_quota(waits(2, user="ann"), NORMAL)


def test_other_groups_are_no_part_of_it() -> None:
    nodes = (*some_nodes(1), a_node("other-1", group="other"))
    away = runs(1, "other-1", group="other")
    state = a_group(away, waits(2), waits(3, group="other"), nodes=nodes)
    assert (list(state.node_group.nodes), list(state.turns), list(state.pending.tasks)) == (["node-1"], [], [2])


def test_a_group_without_nodes_has_room_for_nothing() -> None:
    state = a_group(waits(1, group="empty"), group="empty", nodes=1)
    assert (list(state.node_group.nodes), state.nodes.now(waits(1), NORMAL)) == ([], [])
    assert list(state.pending.tasks) == [1]
