"""What is free on the nodes, by what the API server lists."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from hai_spawner.sizes.capacity import PendingPod, how_many, place, rooms, why_not
from unit.spawner.spawn_kit import GPU, a_node, a_pod

ONE_GPU = PendingPod(needs={"cpu": Decimal(1), GPU: Decimal(1)})
ONE_CPU = PendingPod(needs={"cpu": Decimal(1)})


def test_free_is_what_pods_have_not_asked_for() -> None:
    (room,) = rooms([a_node(cpu="4", gpus=2)], [a_pod(cpu="500m", gpus=1), a_pod(cpu="1500m")])
    assert (room.free["cpu"], room.free[GPU], room.free["pods"]) == (2, 1, 108)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_holds_nothing(phase: str) -> None:
    (room,) = rooms([a_node(gpus=1)], [a_pod(gpus=1, phase=phase)])
    assert room.free[GPU] == 1


@pytest.mark.parametrize(
    "given",
    [
        {"ready": "False"},
        {"ready": "Unknown"},
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
        {"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoExecute"}]}},
    ],
    ids=["not ready", "unknown", "cordoned", "tainted", "tainted with a value"],
)
def test_a_node_that_takes_no_pods_has_no_room(given: dict[str, Any]) -> None:
    assert rooms([a_node(**given)], []) == []


@pytest.mark.parametrize(
    ("toleration", "holds"),
    [
        ({"key": "a", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "c"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
    ids=["key", "everything", "value", "other value", "other effect"],
)
def test_a_tolerated_taint_does_not_matter(toleration: dict[str, Any], holds: bool) -> None:
    node = a_node(spec={"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]})
    assert bool(rooms([node], [], tolerations=[toleration])) is holds


def test_a_taint_that_only_advises_does_not_matter() -> None:
    assert rooms([a_node(spec={"taints": [{"key": "a", "effect": "PreferNoSchedule"}]})], [])


def test_pods_without_a_node_and_grants_without_a_pod_take_their_place() -> None:
    nodes = [a_node("n-1", gpus=2), a_node("n-2", gpus=2)]
    found = rooms(nodes, [a_pod(None, gpus=2), a_pod("n-1", gpus=1)], claims=[ONE_GPU])
    assert [room.free[GPU] for room in found] == [0, 0]
    assert how_many(found, ONE_GPU) == 0


def test_the_tightest_node_is_taken_so_that_large_servers_find_one_whole() -> None:
    nodes = [a_node("n-1", gpus=4), a_node("n-2", gpus=4)]
    found = place(rooms(nodes, [a_pod("n-2", gpus=3)]), ONE_GPU)
    assert found is not None
    assert [room.free[GPU] for room in found] == [4, 0]


def test_servers_without_devices_leave_nodes_with_devices_alone() -> None:
    found = place(rooms([a_node("n-1", gpus=4), a_node("n-2")], []), ONE_CPU)
    assert found is not None
    assert [room.free["cpu"] for room in found] == [8, 7]


def test_how_many_is_counted_node_by_node() -> None:
    nodes = [a_node("n-1", cpu="3"), a_node("n-2", cpu="3")]
    assert how_many(rooms(nodes, []), PendingPod(needs={"cpu": Decimal(2)})) == 2


@pytest.mark.parametrize(
    ("nodes", "pods", "claim", "why"),
    [
        ([], [], ONE_GPU, "no node of its kind is up"),
        ([a_node(gpus=1)], [], PendingPod(needs={}, node_selector={"a": "b"}), "no node of its kind is up"),
        ([a_node(cpu="4")], [], PendingPod(needs={"cpu": Decimal(8)}), "the largest has 4 CPU"),
        ([a_node()], [], ONE_GPU, "the largest has 0 nvidia.com/gpu"),
        ([a_node(gpus=2)], [a_pod(gpus=2)], ONE_GPU, "no node has 1 nvidia.com/gpu free"),
        (
            [a_node(gpus=2)],
            [a_pod(gpus=1)],
            PendingPod(needs={"nvidia.com/gpu": Decimal(2)}),
            "no node has 2 nvidia.com/gpu free; the most is 1 nvidia.com/gpu",
        ),
        (
            [a_node("n-1", cpu="4", gpus=1), a_node("n-2", cpu="4", gpus=1)],
            [a_pod("n-1", cpu="4"), a_pod("n-2", gpus=1)],
            ONE_GPU,
            "no node has all that it needs at once",
        ),
    ],
    ids=["no node", "no such node", "too large", "no device", "all in use", "some in use", "apart"],
)
def test_why_there_is_no_place_is_said(nodes: list[Any], pods: list[Any], claim: PendingPod, why: str) -> None:
    assert why in why_not(rooms(nodes, pods), claim)
