"""What a real API server and a real kube-scheduler say of a run that does not start is shown to the user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes.client import ApiRefused, KubernetesApi
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import Blame, RankState
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.ports.errors import Temporary
from kit.kubernetes.harness import KubernetesHarness
from kit.kubernetes.place import admin

RUN = RunId("1.1")


@pytest.fixture
async def api() -> AsyncIterator[KubernetesApi]:
    async with admin() as made:
        yield made


@pytest.fixture
async def quota(api: KubernetesApi, harness: KubernetesHarness) -> AsyncIterator[None]:
    """A ResourceQuota with which no pod can be created in the namespace."""
    path = f"{harness.place.path}/resourcequotas"
    await api.request("POST", path, body={"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    pod = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "probe", "image": "probe:1"}]}}

    async def in_force() -> bool:
        # A busy server lets pods pass until it has heard of the quota, and says that its status is unknown until it has
        # counted.
        try:
            await api.request("POST", f"{harness.place.path}/pods", query={"dryRun": "All"}, body=pod)
        except (ApiRefused, Temporary) as refusal:
            return "exceeded quota: none" in str(refusal)
        return False

    await harness.settle(in_force)
    yield
    await api.request("DELETE", f"{path}/none")


async def words(harness: KubernetesHarness, cluster: Any) -> str:
    """The message of the first rank that has one."""

    async def look() -> str:
        ranks = [rank for run in await cluster.observe() if run.run_id == RUN for rank in run.ranks]
        return next((said for rank in ranks if (said := rank.start_error or rank.message)), "")

    return await harness.settle(look)


async def test_a_volume_claim_that_is_not_there_is_named_while_the_run_is_starting(harness, cluster) -> None:
    nowhere = Mount(kind=MountKind.PVC, source="nowhere", mount_path="/data")
    await cluster.launch(replace(harness.launch(1, harness.waits()), mounts=(nowhere,)))
    said = await words(harness, cluster)
    assert said.startswith("Unschedulable: ")
    assert 'persistentvolumeclaim "nowhere" not found' in said
    (run,) = await cluster.observe()
    assert run.ranks[0].state is RankState.PENDING


async def test_a_node_without_room_is_said_in_the_schedulers_words(harness) -> None:
    cluster = await harness.open_with(cpu_share=1.0, cpu_reserve=0.0)
    first, second = harness.launch(1, harness.waits()), harness.launch(2, harness.waits())
    await cluster.launch(first)

    async def running() -> bool:
        return await harness.starts(RUN, 0) > 0

    await harness.settle(running)
    await cluster.launch(second)

    async def said() -> str:
        shown = [run for run in await cluster.observe() if run.run_id == second.run_id]
        return (shown[0].ranks[0].message or "") if shown and shown[0].ranks else ""

    assert "Insufficient cpu" in await harness.settle(said)


async def test_an_image_that_is_nowhere_is_named_while_the_run_is_starting(harness, cluster) -> None:
    await cluster.launch(replace(harness.launch(1, harness.waits()), image="localhost/no-such-image:1"))
    said = await words(harness, cluster)
    assert said.partition(":")[0] in ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull")
    assert "no-such-image" in said


@pytest.mark.usefixtures("quota")
async def test_a_quota_that_is_used_up_is_said_at_once_and_is_no_nodes_fault(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits()))
    assert "exceeded quota: none" in await words(harness, cluster)
    (run,) = await cluster.observe()
    assert (run.ranks[0].state, run.ranks[0].blame) == (RankState.EXITED, Blame.NOBODY)
