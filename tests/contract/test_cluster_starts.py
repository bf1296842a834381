"""Runs that end, or whose launch breaks off, before all of their ranks run: the Cluster port, against every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.cluster_harness import ClusterHarness
from contract.test_cluster import ADAPTERS, observed, ranks_when
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.observation import RankObservation
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Temporary


@pytest.fixture(params=sorted(ADAPTERS))
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ClusterHarness]:
    harness = ADAPTERS[request.param](tmp_path)
    yield harness
    await harness.close()


@pytest.fixture
async def cluster(harness: ClusterHarness) -> Cluster:
    return await harness.open()


async def test_a_run_that_is_killed_before_it_starts_has_ended_and_no_node_is_to_blame(harness, cluster) -> None:
    """The cluster may report anything of containers that it had not made: it was told to end them (H3)."""
    launch = harness.launch(1, harness.waits(), "node-1", "node-2")
    held = harness.held(launch)
    await cluster.launch(held or launch)
    if held is not None:
        await ranks_when(harness, cluster, "1.1", RankState.PENDING)
    await cluster.kill(RunId("1.1"))
    other = await harness.open()
    shown: list[RankObservation] = []

    async def ended() -> bool:
        seen = [run for which in (cluster, other) if (run := await observed(which, "1.1")) is not None]
        shown.extend(rank for run in seen for rank in run.ranks)
        return len(seen) == 2 and all(run.killed and run.ranks and run.gone for run in seen)

    async def vanished() -> bool:
        await ended()
        return await harness.vanished(RunId("1.1"))

    await harness.settle(ended)
    await harness.settle(vanished)
    assert await ended()
    assert not [rank for rank in shown if rank.state is RankState.LOST or rank.start_error or rank.leaving_by]
    if held is not None:
        assert not [rank for rank in shown if rank.state is RankState.RUNNING or rank.exit_code == 0]
        assert [await harness.starts(RunId("1.1"), rank) for rank in (0, 1)] == [0, 0]


async def test_a_gang_that_is_killed_while_only_part_of_it_runs_has_ended_and_no_node_is_to_blame(
    harness, cluster
) -> None:
    if not await harness.break_launch(1):
        pytest.skip("launches of this adapter are not broken off on demand")
    with pytest.raises(Temporary):
        await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))
    await harness.settle(lambda: _runs(cluster, 0))
    await cluster.kill(RunId("1.1"))
    for rank in await ranks_when(harness, cluster, "1.1", RankState.EXITED):
        assert (rank.start_error, rank.leaving_by) == (None, None)
        # On a busy machine it may have no time to leave by itself.
        assert rank.exit_code is None or any(harness.ended_with(rank.exit_code, code) for code in (137, 143))


async def test_a_launch_that_broke_off_is_completed_by_the_next(harness, cluster) -> None:
    if not await harness.break_launch(1):
        pytest.skip("launches of this adapter are not broken off on demand")
    launch = harness.launch(1, harness.waits(), "node-1", "node-2")
    with pytest.raises(Temporary):
        await cluster.launch(launch)
    await harness.settle(lambda: _runs(cluster, 0))
    await cluster.launch(launch)
    assert len(await ranks_when(harness, cluster, "1.1", RankState.RUNNING)) == 2
    await harness.release()
    ranks = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert [rank.exit_code for rank in ranks] == [0, 0]
    assert [await harness.starts(RunId("1.1"), rank) for rank in (0, 1)] == [1, 1]


async def _runs(cluster: Cluster, rank: int) -> bool:
    run = await observed(cluster, "1.1")
    return run is not None and any(seen.rank == rank and seen.state is RankState.RUNNING for seen in run.ranks)
