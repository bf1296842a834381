"""The origin of runs on a cluster, and the mark of each database: the Cluster port, against every adapter.

Decision 0016.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from contract.cluster_harness import ClusterHarness
from contract.test_cluster import ADAPTERS, log_of, observed, ranks_when
from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.lineage import Superseded

MARK = Mark(database="a1b2", epoch=2, steps=10, task=7, number=3)
OURS, THEIRS = Origin("a1b2", 2), Origin("c3d4", 2)


@pytest.fixture(params=sorted(ADAPTERS))
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ClusterHarness]:
    harness = ADAPTERS[request.param](tmp_path)
    yield harness
    await harness.close()


@pytest.fixture
async def cluster(harness: ClusterHarness) -> Cluster:
    return await harness.open()


class TestOrigins:
    @pytest.mark.parametrize("origin", [OURS, None])
    async def test_a_run_is_seen_with_what_its_launch_said_of_it(self, harness, cluster, origin) -> None:
        launch = harness.launch(1, harness.waits(), "node-1", "node-2")
        await cluster.launch(replace(launch, origin=origin))
        await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
        for which in (cluster, await harness.open()):
            seen = await observed(which, "1.1")
            assert (seen.origin, seen.nodes, seen.user) == (origin, ("node-1", "node-2"), "alice")
            assert not seen.gone

    async def test_nothing_is_started_where_a_run_of_another_origin_has_the_id(self, harness, cluster) -> None:
        launch = replace(harness.launch(1, harness.waits()), origin=OURS)
        await cluster.launch(launch)
        await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
        for other in (THEIRS, replace(OURS, epoch=3), None):
            with pytest.raises(Temporary, match="hai admin orphans"):
                await cluster.launch(replace(launch, origin=other))
        assert (await observed(cluster, "1.1")).origin == OURS
        # A rank runs a moment before its command has counted itself.
        assert await harness.settle(lambda: harness.starts(RunId("1.1"), 0)) == 1


class TestMarks:
    async def test_a_new_cluster_has_none(self, cluster) -> None:
        assert await cluster.marks() == []

    async def test_the_latest_of_every_database_is_kept_over_restarts(self, harness, cluster) -> None:
        other, later = replace(MARK, database="c3d4", epoch=1), replace(MARK, steps=11, task=9)
        for mark in (MARK, other, MARK, later):
            await cluster.put_mark(mark)
        await cluster.close()
        again = await harness.open()
        assert sorted(await again.marks(), key=lambda mark: mark.database) == [later, other]

    @pytest.mark.parametrize("field", ["epoch", "steps", "task", "number"])
    async def test_one_that_goes_back_is_refused_and_changes_nothing(self, harness, cluster, field) -> None:
        await cluster.put_mark(MARK)
        smaller = {field: getattr(MARK, field) - 1}
        with pytest.raises(Superseded, match="a1b2"):
            await (await harness.open()).put_mark(replace(MARK, **smaller))
        assert await cluster.marks() == [MARK]


class TestPuttingAside:
    async def test_an_ended_run_is_shown_no_more_and_its_id_is_free(self, harness, cluster) -> None:
        launch = replace(harness.launch(1, harness.prints("theirs")), origin=THEIRS)
        await cluster.launch(launch)
        await ranks_when(harness, cluster, "1.1", RankState.EXITED)
        place = await cluster.put_aside(RunId("1.1"))
        assert "c3d4-2" in place
        assert await cluster.put_aside(RunId("1.1")) is None
        for which in (cluster, await harness.open()):
            assert await which.observe() == []
            with pytest.raises(Absent):
                await which.read_log(RunId("1.1"), 0, offset=0, limit=100)
        await cluster.launch(replace(harness.launch(1, harness.prints("ours")), origin=OURS))
        await ranks_when(harness, cluster, "1.1", RankState.EXITED)
        assert await log_of(harness, cluster, "1.1") == "ours\n"

    async def test_the_order_to_end_what_never_began_is_shown_no_more(self, harness, cluster) -> None:
        await cluster.kill(RunId("1.1"))
        await cluster.put_aside(RunId("1.1"))
        for which in (cluster, await harness.open()):
            assert await which.observe() == []

    async def test_a_live_run_stays(self, harness, cluster) -> None:
        await cluster.launch(replace(harness.launch(1, harness.waits()), origin=THEIRS))
        await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
        with pytest.raises(Temporary, match="not ended"):
            await cluster.put_aside(RunId("1.1"))
        assert (await observed(cluster, "1.1")).ranks[0].state is RankState.RUNNING
