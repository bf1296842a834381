"""Nodes on which runs keep failing (rule H3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.decisions import Quarantine
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark, Strike
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.nodes.quarantine import quarantines
from kit.builders import a_node, a_strike, some_nodes
from unit.core.tables import (
    NOW,
    POLICY,
    ago,
    decide,
    for_minutes,
    runs,
    snapshot,
    starts,
    suspends,
    waits,
)


def strikes(
    *at_minutes: float,
    tasks: tuple[int, ...] = (1, 2, 3),
    node: str = "node-1",
    users: dict[int, str | None] | None = None,
) -> tuple[Strike, ...]:
    """Failures on the node that many minutes ago, of these tasks in turn; each task is another user's by default."""
    ids = [tasks[n % len(tasks)] for n in range(len(at_minutes))]
    whose = users or {number: f"user-{number}" for number in ids}
    return tuple(
        a_strike(node, task_id=TaskId(number), at=ago(minutes), user=whose[number])
        for number, minutes in zip(ids, at_minutes, strict=True)
    )


TEN = tuple(range(10))


#: sentence, failures, whether the node is put in quarantine
STRIKES = [
    ("three failures of three tasks", strikes(1, 2, 3), True),
    ("two failures", strikes(1, 2), False),
    ("three failures of two tasks", strikes(1, 2, 3, tasks=(1, 2)), True),
    ("three failures of one task may be the task's", strikes(1, 2, 3, tasks=(1,)), False),
    ("ten failures of one task", strikes(*range(10), tasks=(1,)), False),
    ("all of them within an hour", strikes(0, 30, 59.99), True),
    ("one of them just an hour ago", strikes(0, 30, 60), False),
    ("an old one more does not matter", strikes(0, 30, 59, 600), True),
    ("three tasks of one user may be the user's", strikes(1, 2, 3, users=dict.fromkeys((1, 2, 3), "mallory")), False),
    ("ten tasks of one user", strikes(*range(10), tasks=TEN, users=dict.fromkeys(TEN, "mallory")), False),
    ("tasks of two users", strikes(1, 2, 3, users={1: "mallory", 2: "mallory", 3: "bob"}), True),
    ("another user's before the hour", strikes(1, 2, 60, users={1: "mallory", 2: "mallory", 3: "bob"}), False),
    ("tasks that are deleted are no second user's", strikes(1, 2, 3, users={1: "mallory", 2: None, 3: None}), False),
    ("nor hide that there are two", strikes(1, 2, 3, users={1: "mallory", 2: None, 3: "bob"}), True),
    ("two of one task within the hour, another's before", strikes(1, 2, 3, 90, tasks=(1, 1, 1, 2)), False),
]


@pytest.mark.parametrize(("seen", "put"), [row[1:] for row in STRIKES], ids=[row[0] for row in STRIKES])
def test_h3_a_node_on_which_runs_keep_failing_is_put_in_quarantine(seen: tuple[Strike, ...], put: bool) -> None:
    made = decide(snapshot(nodes=10, strikes=seen))
    assert [d.node for d in made.decisions if isinstance(d, Quarantine)] == (["node-1"] if put else [])


def test_h3_the_same_plan_starts_nothing_there_and_names_the_tasks() -> None:
    made = decide(snapshot(waits(5, 10), waits(6, 9), nodes=10, strikes=strikes(1, 2, 3)))
    assert made.decisions[0] == Quarantine(node="node-1", tasks=(TaskId(1), TaskId(2), TaskId(3)))
    assert set(starts(made)) == {6}
    assert "node-1" not in starts(made)[6]


def test_h3_runs_that_are_there_stay() -> None:
    assert suspends(decide(snapshot(runs(5, "node-1"), nodes=10, strikes=strikes(1, 2, 3)))) == {}


@pytest.mark.parametrize(("nodes", "put"), [(9, 0), (10, 1), (19, 1), (20, 2)])
def test_h3_at_most_a_tenth_of_a_group(nodes: int, put: int) -> None:
    seen = (*strikes(1, 2, 3), *strikes(1, 2, 3, node="node-2"), *strikes(1, 2, 3, node="node-3"))
    assert len(quarantines(some_nodes(nodes), seen, POLICY, NOW)) == put


def test_h3_nodes_in_quarantine_already_count_against_the_tenth() -> None:
    there = (a_node("bad", mark=NodeMark.QUARANTINED), *some_nodes(10))
    assert quarantines(there, strikes(1, 2, 3), POLICY, NOW) == ()
    cordoned = (a_node("bad", mark=NodeMark.CORDONED), *some_nodes(10))
    assert len(quarantines(cordoned, strikes(1, 2, 3), POLICY, NOW)) == 1


def test_h3_the_worst_node_first_and_ties_by_name() -> None:
    seen = (*strikes(1, 2, 3), *strikes(1, 2, 3, 4, node="node-2"))
    assert [one.node for one in quarantines(some_nodes(10), seen, POLICY, NOW)] == ["node-2"]
    seen = (*strikes(1, 2, 3), *strikes(1, 2, 3, node="node-2"))
    assert [one.node for one in quarantines(some_nodes(10), seen, POLICY, NOW)] == ["node-1"]


@pytest.mark.parametrize("mark", [NodeMark.CORDONED, NodeMark.DRAINING, NodeMark.QUARANTINED])
def test_h3_a_node_that_is_marked_is_left_as_it_is(mark: NodeMark) -> None:
    nodes = (a_node("node-1", mark=mark), *some_nodes(40, prefix="n"))
    assert quarantines(nodes, strikes(1, 2, 3), POLICY, NOW) == ()


def test_h3_a_tenth_is_of_each_group() -> None:
    nodes = (*some_nodes(5), *some_nodes(20, prefix="j", group="jupyter"))
    assert decide(snapshot(nodes=nodes, strikes=strikes(1, 2, 3))).decisions == ()


def test_h3_the_numbers_are_the_policys() -> None:
    policy = Policy(strikes=2, strike_tasks=1, strike_users=1, strike_window=for_minutes(5), quarantine_share=1)
    assert len(quarantines(some_nodes(1), strikes(1, 2, tasks=(1,)), policy, NOW)) == 1
    assert quarantines(some_nodes(1), strikes(1, 5, tasks=(1,)), policy, NOW) == ()
    assert quarantines(some_nodes(1), strikes(1, 2), replace(policy, quarantine_share=0), NOW) == ()
    assert quarantines(some_nodes(1), strikes(1, 2, tasks=(1,)), replace(policy, strike_users=2), NOW) == ()
    assert quarantines(some_nodes(1), strikes(1, 2), replace(policy, strike_users=3), NOW) == ()
