"""Every second of every node is in exactly one state, whatever runs do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.tallies.families import NODE_SECONDS
from hai_scheduler.core.tallies.node_time import shares_of, spend
from hai_scheduler.core.tallies.tallies import Tallies
from kit.builders import a_node, a_notice, a_rank, a_run, a_task, at, some_nodes


def shares(nodes: tuple[Node, ...], *tasks: Task) -> dict[str, float]:
    """The nodes by state, those of them that are not 0."""
    found = shares_of(nodes, tasks, lambda group: group)
    return {state: number for (_, state), number in found.items() if number}


def on(*names: str, gpus: tuple[int, ...] = (), **run: object) -> Task:
    ranks = tuple(a_rank(number, node=name, gpus=gpus) for number, name in enumerate(names))
    return a_task(state=TaskState.RUNNING, nodes=len(names), run=a_run(ranks=ranks, **{"running_at": at(5), **run}))


@pytest.mark.parametrize(
    ("node", "state"),
    [
        (a_node(), "idle"),
        (a_node(ready=False), "down"),
        (a_node(closed=True), "down"),
        (a_node(mark=NodeMark.CORDONED), "down"),
        (a_node(mark=NodeMark.QUARANTINED), "down"),
        (a_node(orphan=RunId("4.1")), "down"),
    ],
)
def test_a_node_without_a_run_is_idle_or_down(node: Node, state: str) -> None:
    assert shares((node,)) == {state: 1}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "useful"),
        ({"running_at": None}, "overhead"),
        ({"notice": a_notice()}, "overhead"),
        ({"killed_at": at(9)}, "overhead"),
    ],
)
def test_a_run_computes_or_comes_and_goes(changes: dict[str, object], state: str) -> None:
    assert shares(some_nodes(3), on("node-1", "node-2", **changes)) == {state: 2, "idle": 1}


def test_a_run_on_a_drained_node_computes_and_a_run_on_a_lost_one_does_not() -> None:
    nodes = (a_node("node-1", mark=NodeMark.DRAINING), a_node("node-2", ready=False))
    assert shares(nodes, on("node-1", "node-2")) == {"useful": 1, "down": 1}


def test_parts_of_a_node_are_counted_as_parts() -> None:
    tasks = (on("node-1", gpus=(0, 1)), on("node-1", gpus=(2,), running_at=None))
    assert shares((a_node(gpus=8),), *tasks) == {"useful": 0.25, "overhead": 0.125, "idle": 0.625}
    assert shares((a_node(gpus=8, mark=NodeMark.CORDONED),), *tasks)["down"] == 0.625


def test_a_node_that_two_runs_claim_counts_once() -> None:
    assert shares((a_node(),), on("node-1"), on("node-1", running_at=None)) == {"useful": 0.5, "overhead": 0.5}


def test_all_states_of_a_group_are_there_also_those_of_0() -> None:
    tallies = Tallies()
    spend(tallies, shares_of((a_node(),), (), str), 10, {})
    found = tallies.counters[NODE_SECONDS.name]
    assert {state: seconds for (_, state), seconds in found.items()} == {
        "useful": 0, "overhead": 0, "lost": 0, "idle": 10, "down": 0,
    }  # fmt: skip


def test_lost_time_is_paid_from_useful_time_and_from_nothing_else() -> None:
    tallies, debts = Tallies(), {"training": 25.0}
    busy = {("training", "useful"): 2.0, ("training", "idle"): 1.0}
    spend(tallies, {("training", "useful"): 0.0, ("training", "idle"): 3.0}, 10, debts)
    assert debts == {"training": 25}
    spend(tallies, busy, 10, debts)
    assert debts == {"training": 5}
    spend(tallies, busy, 10, debts)
    found = tallies.counters[NODE_SECONDS.name]
    assert (found["training", "lost"], found["training", "useful"], found["training", "idle"]) == (25, 15, 50)
    assert debts == {"training": 0}


STATES = st.sampled_from(["free", "ready", "starts", "leaves", "lost", "closed", "shared"])


@given(
    steps=st.lists(
        st.tuples(st.lists(STATES, min_size=1, max_size=6), st.floats(0, 1000), st.floats(0, 500)), max_size=12
    )
)
def test_the_seconds_of_all_states_are_those_of_all_nodes(
    steps: list[tuple[list[str], float, float]],
) -> None:
    tallies, debts, expected, lost = Tallies(), {"training": 0.0}, 0.0, 0.0
    for states, seconds, wasted in steps:
        nodes, tasks = [], []
        for number, state in enumerate(states):
            node = a_node(f"node-{number}", ready=state != "lost", closed=state == "closed")
            nodes.append(node)
            if state in ("ready", "starts", "leaves", "shared", "lost"):
                task = on(node.name, gpus=(0, 1) if state == "shared" else ())
                assert task.run is not None
                changes = {"starts": {"running_at": None}, "leaves": {"notice": a_notice()}}.get(state, {})
                tasks.append(replace(task, run=replace(task.run, **changes)))  # type: ignore[arg-type]
        debts["training"] += wasted
        lost += wasted
        spend(tallies, shares_of(nodes, tasks, str), seconds, debts)
        expected += len(nodes) * seconds
    found = tallies.counters.get(NODE_SECONDS.name, {})
    assert sum(found.values()) == pytest.approx(expected)
    assert found.get(("training", "lost"), 0.0) + debts["training"] == pytest.approx(lost)
