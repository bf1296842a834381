"""`hai nodes`, `hai quota` and `hai whoami` as tables."""

from __future__ import annotations

from typing import Any

from unit.client.conftest import Hai


def test_a_shared_node_shows_every_task_on_it_and_the_gpus_that_are_free(hai: Hai, platform: Any) -> None:
    platform.on_nodes["node-2"] = [
        {"task_id": 7, "user": "bob", "gpus": [0, 1]},
        {"task_id": 9, "user": "bob", "gpus": [2]},
    ]
    lines = hai("nodes").out.splitlines()
    row = next(line for line in lines if line.startswith("node-2"))
    assert row.split() == ["node-2", "shared", "training", "leaf-1", "a", "8", "5", "7", "9", "bob"]
    assert lines[-1] == "3 nodes: 1 shared, 1 held, 1 down"


def test_nodes_quota_and_whoami_read_well(hai: Hai) -> None:
    out = hai("nodes").out
    assert "node-3  down" in out
    assert out.endswith("3 nodes: 1 free, 1 held, 1 down\n")
    assert [line.split()[:4] for line in hai("quota").out.splitlines()[1:]] == [
        ["training", "HIGH", "0", "unlimited"],
        ["training", "NORMAL", "2", "10"],
    ]
    out = hai("whoami").out
    assert out.startswith("alice\n  at       http://127.0.0.1:")
    assert "submit and steer tasks" in out


def test_a_node_where_rdma_falls_back_to_tcp_is_told_below_the_table(hai: Hai, platform: Any) -> None:
    platform.slow["node-1"] = "RDMA falls back to TCP on node-1: no port of the RDMA devices there is active."
    assert hai("nodes").out.splitlines()[-1] == f"node-1: {platform.slow['node-1']}"


def test_a_node_that_the_cluster_has_closed_is_not_called_free_and_says_why(hai: Hai, platform: Any) -> None:
    platform.closed["node-2"] = "The cluster has closed it: cordoned in Kubernetes (kubectl uncordon opens it)."
    lines = hai("nodes").out.splitlines()
    assert next(line for line in lines if line.startswith("node-2 ")).split()[1] == "closed"
    assert lines[-2:] == ["3 nodes: 1 held, 1 down, 1 closed", f"node-2: {platform.closed['node-2']}"]
