"""The logs of runs that the cluster has settled, against every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.cluster_harness import ClusterHarness
from contract.test_cluster import ADAPTERS, log_of, ranks_when
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Absent


@pytest.fixture(params=sorted(ADAPTERS))
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ClusterHarness]:
    harness = ADAPTERS[request.param](tmp_path)
    yield harness
    await harness.close()


@pytest.fixture
async def cluster(harness: ClusterHarness) -> Cluster:
    return await harness.open()


async def test_a_settled_run_keeps_its_log(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.prints("hello")))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    await cluster.settle(RunId("1.1"))
    await cluster.settle(RunId("1.1"))
    assert await log_of(harness, cluster, "1.1") == "hello\n"
    await cluster.settle(RunId("9.1"))


async def test_an_order_to_end_a_settled_run_that_comes_late_leaves_its_log_readable(harness, cluster) -> None:
    """The order was given before the run had ended by itself, and took longer than all that followed."""
    await cluster.launch(harness.launch(1, harness.prints("hello"), "node-1", "node-2"))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    await cluster.settle(RunId("1.1"))

    async def settled() -> bool:
        return await harness.vanished(RunId("1.1"))

    await harness.settle(settled)
    for late in (await harness.open(), cluster):
        await late.kill(RunId("1.1"))
        for rank in (0, 1):
            assert await log_of(harness, late, "1.1", rank) == "hello\n"
        with pytest.raises(Absent):
            await late.read_log(RunId("1.1"), 2, offset=0, limit=100)
