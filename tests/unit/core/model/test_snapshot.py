"""Snapshots that contradict themselves are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.snapshot import BrokenSnapshot, Snapshot
from hai_scheduler.core.model.task import TaskState
from kit.builders import a_node, a_task, at, some_nodes
from unit.core.tables import runs, shares


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        pytest.param({"nodes": (a_node("a"), a_node("a")), "tasks": ()}, "one name", id="two nodes of one name"),
        pytest.param({"nodes": (), "tasks": (a_task(state=TaskState.STOPPED),)}, "ended", id="an ended task"),
        pytest.param(
            {"nodes": (), "tasks": (a_task(state=TaskState.RUNNING, run=None),)}, "run", id="live without a run"
        ),
        pytest.param(
            {"nodes": some_nodes(1), "tasks": (runs(1, "node-1"), runs(2, "node-1"))}, "node-1", id="a node held twice"
        ),
        pytest.param(
            {"nodes": some_nodes(1), "tasks": (shares(1, {"node-1": (0, 1)}), shares(2, {"node-1": (1,)}))},
            "GPU 1 of node-1",
            id="a GPU held twice",
        ),
        pytest.param(
            {"nodes": some_nodes(1), "tasks": (runs(1, "node-1"), shares(2, {"node-1": (1,)}))},
            "held whole by task 1, and shared",
            id="a node held whole and in parts",
        ),
    ],
)
def test_a_broken_snapshot_is_refused(parts: dict[str, tuple[object, ...]], named: str) -> None:
    with pytest.raises(BrokenSnapshot, match=named):
        Snapshot(now=at(), **parts).check()


def test_parts_of_a_node_that_do_not_overlap_are_fine() -> None:
    there = (shares(1, {"node-1": (0, 1)}), shares(2, {"node-1": (2,)}))
    snapshot = Snapshot(now=at(), nodes=some_nodes(1), tasks=there)
    snapshot.check()
    with pytest.raises(BrokenSnapshot, match="GPU 2 of node-1"):
        replace(snapshot, tasks=(*there, shares(3, {"node-1": (2,)}))).check()
