"""Fabrics on a real cluster: extended resources that a patch has put on nodes, and who gets them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.core.workspace.fabrics import NETWORKS, Fabric, fabric_of
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.fabric_trials import FabricRefused
from kit.kubernetes.harness import KubernetesHarness
from kit.kubernetes.place import admin

#: In each test another one, as kubelets take their time to forget a resource.
HCA = "example.com/hca-{}"
CV = Fabric(group="training", subject="group:cv", memlock_bytes=0)


@asynccontextmanager
async def offered(counts: dict[str, dict[str, int]]) -> AsyncIterator[None]:
    """Nodes that offer resources, by node and resource, as if a device plugin had said so."""
    async with admin() as api:
        for node, resources in counts.items():
            have = {name: str(count) for name, count in resources.items()}
            status = {"status": {"capacity": have, "allocatable": have}}
            await api.request("PATCH", f"/api/v1/nodes/{node}/status", body=status)
    try:
        yield
    finally:
        async with admin() as api:
            for node, resources in counts.items():
                gone = {"status": {"capacity": dict.fromkeys(resources), "allocatable": dict.fromkeys(resources)}}
                await api.request("PATCH", f"/api/v1/nodes/{node}/status", body=gone)


async def limits_of(harness: KubernetesHarness, run: str) -> list[dict[str, str]]:
    """What the pods of a run may have, in rank order."""
    async with admin() as api:
        found = await api.request("GET", f"{harness.place.path}/pods")
    pods = sorted(
        (pod for pod in found["items"] if pod["metadata"]["name"].startswith(f"hai-{run.replace('.', '-')}-")),
        key=lambda pod: pod["metadata"]["name"],
    )
    return [pod["spec"]["containers"][0]["resources"]["limits"] for pod in pods]


async def states(cluster: Any) -> dict[str, set[RankState]]:
    return {run.run_id: {rank.state for rank in run.ranks} for run in await cluster.observe()}


async def counted(harness: KubernetesHarness, cluster: Any, resource: str, most: int) -> None:
    """Wait until the cluster has seen what was patched."""

    async def look() -> bool:
        with suppress(FabricRefused):
            await cluster.fabrics.try_out(replace(CV, resources={resource: most}))
            return True
        return False

    await harness.settle(look)


def order(harness: KubernetesHarness, number: int, *, groups: set[str], rows: list[Fabric]) -> LaunchOrder:
    """A gang of a user of these groups, with the fabric that counts for them."""
    launch = harness.launch(number, harness.waits(), "node-1", "node-2")
    return replace(launch, fabric=fabric_of(rows, "training", "ann", groups))


async def test_a_gang_of_the_right_people_gets_the_devices_and_others_never_do(harness) -> None:
    resource, nodes = HCA.format("who"), {harness.node("node-1"), harness.node("node-2")}
    rows = [replace(CV, resources={resource: 4})]
    async with offered({node: {resource: 4 * (3 - len(nodes))} for node in nodes}):
        cluster = await harness.open()
        await counted(harness, cluster, resource, 4)
        mine, others = (order(harness, n, groups=groups, rows=rows) for n, groups in ((1, {"cv"}), (2, {"nlp"})))
        assert (mine.fabric, others.fabric) == (rows[0], None)
        for launch in (mine, others):
            await cluster.launch(launch)

        async def both_run() -> bool:
            return await states(cluster) == {"1.1": {RankState.RUNNING}, "2.1": {RankState.RUNNING}}

        await harness.settle(both_run)
        assert [limits.get(resource) for limits in await limits_of(harness, "1.1")] == ["4", "4"]
        assert [resource in limits for limits in await limits_of(harness, "2.1")] == [False, False]
        await harness.release()


async def test_a_pod_whose_devices_are_in_use_is_given_up_with_the_schedulers_words(harness) -> None:
    resource = HCA.format("used")
    async with offered({harness.node("node-1"): {resource: 1}}):
        cluster = await harness.open_with(start_timeout=timedelta(seconds=5))
        await counted(harness, cluster, resource, 1)
        for number in (1, 2):
            launch = harness.launch(number, harness.waits())
            await cluster.launch(replace(launch, fabric=replace(CV, resources={resource: 1})))

        async def second_is_given_up() -> str | None:
            runs = {run.run_id: run for run in await cluster.observe()}
            return runs[RunId("2.1")].ranks[0].start_error

        assert f"Insufficient {resource}" in await harness.settle(second_is_given_up)
        await harness.release()


async def test_a_resource_that_no_node_has_is_refused_and_a_launch_says_it_at_once(harness) -> None:
    resource, cluster = HCA.format("none"), await harness.open()
    fabric = replace(CV, resources={resource: 2})
    with pytest.raises(FabricRefused, match="no node of training has as many: none has any") as refused:
        await cluster.fabrics.try_out(fabric)
    assert (refused.value.field, refused.value.value) == (f"resources.{resource}", 2)
    await cluster.launch(replace(harness.launch(1, harness.waits()), fabric=fabric))

    async def told() -> bool:
        (run,) = await cluster.observe()
        (rank,) = run.ranks
        return f"has 0 of {resource} and not 2" in (rank.start_error or "") and rank.blame is Blame.NODE

    await harness.settle(told)
    assert await limits_of(harness, "1.1") == [], "no pod was made"


@pytest.mark.parametrize(
    "fabric",
    [
        replace(CV, annotations={NETWORKS: "roce-0, roce-1"}),
        replace(CV, annotations={"example.com/note": "ä" * 100_000}),
        replace(CV, shm_bytes=2**26),
        replace(CV, host_network=True),
    ],
    ids=["networks", "large annotations", "shm", "host network"],
)
async def test_the_api_server_takes_the_pods_of_fabrics_and_nothing_is_left(harness, fabric: Fabric) -> None:
    cluster = await harness.open()
    assert list(await cluster.fabrics.try_out(fabric)) == []
    async with admin() as api:
        assert (await api.request("GET", f"{harness.place.path}/pods"))["items"] == []
        assert not [
            one
            for one in (await api.request("GET", f"{harness.place.path}/services"))["items"]
            if one["metadata"]["name"].startswith("hai-")
        ]


async def test_annotations_that_the_server_finds_too_large_are_refused_by_name(harness) -> None:
    cluster = await harness.open()
    with pytest.raises(FabricRefused, match="annotations"):
        await cluster.fabrics.try_out(replace(CV, annotations={"example.com/note": "x" * 300_000}))


async def test_a_namespace_with_a_quota_that_is_used_up_is_a_warning(harness) -> None:
    resource = HCA.format("quota")
    hard = {"metadata": {"name": "devices"}, "spec": {"hard": {f"requests.{resource}": "0"}}}
    async with offered({harness.node("node-1"): {resource: 1}}), admin() as api:
        cluster = await harness.open()
        await counted(harness, cluster, resource, 1)
        await api.request("POST", f"{harness.place.path}/resourcequotas", body=hard)

        async def warned() -> bool:
            # The server counts a quota's use before it holds.
            with suppress(Temporary):
                said = await cluster.fabrics.try_out(replace(CV, resources={resource: 1}))
                return any("exceeded quota: devices" in text for text in said)
            return False

        await harness.settle(warned)


async def test_runs_in_the_network_of_their_node_find_each_other_at_a_port_of_the_run(harness) -> None:
    cluster = await harness.open()
    launch = harness.launch(7, harness.waits(), "node-1")
    await cluster.launch(replace(launch, fabric=replace(CV, host_network=True)))

    async def runs() -> bool:
        return await states(cluster) == {"7.1": {RankState.RUNNING}}

    await harness.settle(runs)
    async with admin() as api:
        pod = await api.request("GET", f"{harness.place.path}/pods/hai-7-1-0")
    assert pod["status"]["podIP"] == pod["status"]["hostIP"]
    assert pod["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    await harness.release()
