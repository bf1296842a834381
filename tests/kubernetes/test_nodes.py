"""Nodes of a real cluster, and what pods ask of them."""

from __future__ import annotations

from typing import Any

import pytest

from hai_client.quantity import parse_quantity
from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.adapters.kubernetes.resources import capacity_of
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import RankState
from kit.kubernetes.harness import KubernetesHarness
from kit.kubernetes.place import admin

GPU = "nvidia.com/gpu"


async def test_the_nodes_are_the_clusters_own_and_ready(harness, cluster) -> None:
    nodes = {node.name: node for node in await cluster.nodes()}
    for name in harness.place.nodes:
        assert (nodes[name].group, nodes[name].ready, nodes[name].closed) == ("training", True, False)


async def test_a_cluster_without_runs_shows_none(cluster) -> None:
    assert await cluster.observe() == []


def kept(sent: Any, stored: Any, path: str = "") -> list[str]:
    """The places where a stored object differs from the sent one; fields that the server adds do not count."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        return [place for key, value in sent.items() for place in kept(value, stored.get(key), f"{path}.{key}")]
    if isinstance(sent, list) and isinstance(stored, list) and len(sent) <= len(stored):
        return [
            place
            for number, (one, other) in enumerate(zip(sent, stored, strict=False))
            for place in kept(one, other, f"{path}[{number}]")
        ]
    # The server writes quantities in its own form: `0Mi` as `0`, `1024Mi` as `1Gi`.
    quantities_are_equal = (
        ".resources." in path and stored is not None and parse_quantity(sent) == parse_quantity(stored)
    )
    return [] if sent == stored or quantities_are_equal else [f"{path}: {sent!r} is stored as {stored!r}"]


@pytest.mark.parametrize("init", [True, False], ids=["init container", "config map"])
async def test_the_api_server_knows_every_field_of_every_manifest(harness, init: bool) -> None:
    client = {"init_image": "hai-init", "client_config_map": ""} if init else {"client_config_map": "hai-client"}
    settings = harness.place.settings(log_claim="logs", **client)
    launch = harness.launch(1, harness.waits())
    inside = harness.place.path
    async with admin() as api:
        node = await api.request("GET", f"/api/v1/nodes/{launch.nodes[0]}")
        service = await api.request("POST", f"{inside}/services", body=manifests.service(launch))
        try:
            owned_by = manifests.owner(service)
            pod = manifests.pod(launch, 0, capacity_of(node, (GPU,)), settings, owned_by)
            stored = await api.request("POST", f"{inside}/pods", query={"dryRun": "All"}, body=pod)
            assert kept(pod, stored) == []
            assert kept(manifests.service(launch), service) == []
        finally:
            await api.request("DELETE", f"{inside}/services/hai-1-1")


async def gpu_cluster(harness: KubernetesHarness) -> tuple[Any, int]:
    """A cluster that counts GPUs, and how many its first node has."""
    cluster = await harness.open_with(gpu_resources=(GPU,))
    (node,) = (node for node in await cluster.nodes() if node.name == harness.place.nodes[0])
    if node.gpus < 2:
        pytest.skip(f"node {node.name} has {node.gpus} {GPU}: these tests need 2")
    return cluster, node.gpus


async def states(cluster: Any) -> dict[RunId, RankState]:
    return {run.run_id: run.ranks[0].state for run in await cluster.observe() if run.ranks}


async def test_a_whole_node_belongs_to_one_run(harness) -> None:
    cluster, _ = await gpu_cluster(harness)
    await cluster.launch(harness.launch(1, harness.waits()))

    async def first_runs() -> bool:
        return (await states(cluster)).get(RunId("1.1")) is RankState.RUNNING

    await harness.settle(first_runs)
    await cluster.launch(harness.launch(2, harness.waits(), gpus=((0,),)))

    async def second_waits() -> bool:
        runs = {run.run_id: run for run in await cluster.observe()}
        return f"Insufficient {GPU}" in (runs[RunId("2.1")].ranks[0].message or "")

    await harness.settle(second_waits)
    await harness.release()

    async def both_have_run() -> bool:
        return set((await states(cluster)).values()) == {RankState.EXITED}

    await harness.settle(both_have_run)


async def test_runs_of_some_gpus_share_a_node(harness) -> None:
    cluster, gpus = await gpu_cluster(harness)
    half = tuple(range(gpus // 2))
    await cluster.launch(harness.launch(1, harness.waits(), gpus=(half,)))
    await cluster.launch(harness.launch(2, harness.waits(), gpus=(half,)))

    async def both_run() -> bool:
        return list((await states(cluster)).values()) == [RankState.RUNNING] * 2

    await harness.settle(both_run)
