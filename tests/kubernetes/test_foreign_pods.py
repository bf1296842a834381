"""Nodes that others use too, on a real API server and its scheduler; the kubelets are stand-ins (F5)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from contract.test_cluster import observed, ranks_when
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.ports.cluster import Cluster
from kit.kubernetes.place import Place
from kit.kubernetes.stand_in_harness import StandInHarness

GPU = "nvidia.com/gpu"
MONITORING = {"app.kubernetes.io/name": "gpu-monitoring"}
#: In seconds.
ELSEWHERE_WITHIN = 40.0


@pytest.fixture
async def harness(place: Place) -> AsyncIterator[StandInHarness]:
    harness = StandInHarness(place, gpu_resources=(GPU,))
    await harness.start()
    yield harness
    await harness.close()


async def nodes_when(harness: StandInHarness, cluster: Cluster, met: Callable[[Sequence[Node]], bool]) -> list[Node]:
    """The three nodes in the order of their numbers, as soon as they are so."""

    async def look() -> list[Node] | None:
        by_name = {node.name: node for node in await cluster.nodes()}
        nodes = [by_name[harness.node(f"node-{number}")] for number in (1, 2, 3)]
        return nodes if met(nodes) else None

    found = await harness.settle(look)
    assert found is not None
    return found


async def test_f5_pods_of_others_are_seen_before_anything_starts_beside_them(harness, place) -> None:
    await harness.occupy("dcgm", "node-2", labels=MONITORING, **{GPU: "1", "cpu": "1"})
    cluster = await harness.open_with(foreign_pods=(place.namespace,))
    nodes = await nodes_when(harness, cluster, lambda nodes: nodes[1].room is not None)
    assert [node.room for node in nodes] == [None, 3, None]
    assert nodes[1].crowd == f"gpu-monitoring, ns {place.namespace}"
    await harness.delete("dcgm")
    await nodes_when(harness, cluster, lambda nodes: nodes[1].room is None)


@pytest.mark.parametrize("binding", ["affinity", "direct"])
async def test_f5_a_gang_that_meets_an_unseen_pod_frees_its_other_nodes_in_time_and_blames_nobody(
    harness, binding
) -> None:
    """What kube-scheduler says with `affinity`, a kubelet says with `direct`."""
    await harness.occupy("dcgm", "node-2", labels=MONITORING, **{GPU: "1", "cpu": "1"})
    cluster = await harness.open_with(binding=binding)
    began = time.monotonic()
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))

    async def refused() -> bool:
        run = await observed(cluster, "1.1")
        return run is not None and any(rank.start_error for rank in run.ranks)

    await harness.settle(refused)
    await cluster.kill(RunId("1.1"))  # as the service does when a gang is broken
    ranks = await ranks_when(harness, cluster, "1.1", RankState.EXITED, RankState.LOST)
    assert [(rank.rank, rank.blame, rank.crowded) for rank in ranks if rank.start_error] == [(1, Blame.NOBODY, True)]
    took = time.monotonic() - began
    print(f"{binding}: every rank was gone {took:.1f} s after the launch")
    assert took < ELSEWHERE_WITHIN
    nodes = await nodes_when(harness, cluster, lambda nodes: nodes[1].room is not None)
    assert [node.room for node in nodes] == [None, 3, None], "no whole-node rank goes there for a while"


REJECTED = [
    ("UnexpectedAdmissionError", "Allocate failed due to no healthy devices present", Blame.NODE),
    ("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector", Blame.UNKNOWN),
]


@pytest.mark.parametrize(("reason", "message", "blame"), REJECTED, ids=[row[0] for row in REJECTED])
async def test_f5_a_rejection_for_another_reason_is_no_want_of_room(harness, reason, message, blame) -> None:
    cluster = await harness.open()
    harness.kubelets.reject(harness.node("node-1"), reason, f"Pod was rejected: {message}")
    await cluster.launch(harness.launch(1, harness.waits()))
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert (rank.blame, rank.crowded) == (blame, False)
    assert message in rank.start_error


async def test_an_autoscalers_taint_drains_the_node(harness) -> None:
    cluster = await harness.open()
    await harness.taint("node-2", "ToBeDeletedByClusterAutoscaler")
    nodes = await nodes_when(harness, cluster, lambda nodes: nodes[1].closed)
    assert [node.leaving for node in nodes] == [False, True, False]
    assert "being taken away, as its taint ToBeDeletedByClusterAutoscaler=1:NoSchedule says" in nodes[1].message
