"""Trials of fabrics, against every adapter of the Cluster port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.cluster_harness import ClusterHarness
from contract.test_cluster import ADAPTERS
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.fabric_trials import FabricRefused


@pytest.fixture(params=sorted(ADAPTERS))
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ClusterHarness]:
    harness = ADAPTERS[request.param](tmp_path)
    yield harness
    await harness.close()


@pytest.fixture
async def cluster(harness: ClusterHarness) -> Cluster:
    return await harness.open()


async def test_variables_alone_are_taken_everywhere_and_nothing_is_started(cluster) -> None:
    assert list(await cluster.fabrics.try_out(Fabric(group="training", variables={"NCCL_DEBUG": "INFO"}))) == []
    assert list(await cluster.observe()) == []


async def test_a_group_without_nodes_is_refused_by_name(cluster) -> None:
    with pytest.raises(FabricRefused, match="training") as refused:
        await cluster.fabrics.try_out(Fabric(group="nobody", variables={"A": "b"}))
    assert (refused.value.field, refused.value.value) == ("group", "nobody")
