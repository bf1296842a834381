"""Nodes in Slurm's words."""

from __future__ import annotations

from typing import Any

import pytest

from hai_client.wire.schema import Node, NodeTask
from hai_slurm.users.partitions import node_line, node_rows, partition_lines


def node(**changes: Any) -> Node:
    about = {"name": "n1", "group": "training", "leaf": "", "zone": "", "gpus": 8, "ready": True, "mark": "none"}
    return Node(**{**about, **changes})


@pytest.mark.parametrize(
    ("state", "busy", "long", "short"),
    [
        ("free", False, "idle", "idle"),
        ("held", True, "allocated", "alloc"),
        ("shared", True, "mixed", "mix"),
        ("draining", True, "draining", "drng"),
        ("draining", False, "drained", "drain"),
        ("cordoned", True, "draining", "drng"),
        ("cordoned", False, "drained", "drain"),
        ("quarantined", False, "drained", "drain"),
        ("down", False, "down", "down"),
        ("something new", False, "unknown", "unk"),
    ],
)
def test_the_state_of_a_node(state: str, busy: bool, long: str, short: str) -> None:
    tasks = (NodeTask(task_id=1, user="ann", gpus=()),) if busy else ()
    (row,) = node_rows([node(state=state, tasks=tasks)])
    assert (row["STATE_LONG"], row["STATE"]) == (long, short)


def test_a_node_and_its_group_are_lines_of_facts() -> None:
    assert node_line(node()) == ("NodeName=n1 NodeAddr=n1 NodeHostName=n1 Gres=gpu:8 State=IDLE Partitions=training")
    assert partition_lines([node(), node(name="m1", group="cpu"), node(name="n2")]) == [
        "PartitionName=training Default=YES MaxTime=UNLIMITED State=UP TotalNodes=2 Nodes=n1,n2",
        "PartitionName=cpu Default=NO MaxTime=UNLIMITED State=UP TotalNodes=1 Nodes=m1",
    ]
    assert node_rows([node(gpus=0)])[0]["GRES"] == "(null)"
