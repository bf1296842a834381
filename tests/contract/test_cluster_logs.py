"""Logs of runs: the Cluster port, against every adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.cluster_harness import ClusterHarness
from contract.test_cluster import ADAPTERS, log_of, printed, ranks_when
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Absent
from hai_scheduler.worker.__main__ import read_place


@pytest.fixture(params=sorted(ADAPTERS))
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ClusterHarness]:
    harness = ADAPTERS[request.param](tmp_path)
    yield harness
    await harness.close()


@pytest.fixture
async def cluster(harness: ClusterHarness) -> Cluster:
    return await harness.open()


async def test_a_log_is_read_from_any_offset_in_whole_lines(harness, cluster) -> None:
    text = "\n".join(f"line {number}" for number in range(100))
    await cluster.launch(harness.launch(1, harness.prints(text)))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert await log_of(harness, cluster, "1.1") == text + "\n"
    whole = await cluster.read_log(RunId("1.1"), 0, offset=0, limit=1_000_000)
    assert whole.final
    part = await cluster.read_log(RunId("1.1"), 0, offset=0, limit=200)
    assert 0 < len(part.data) <= 200
    assert part.data.endswith(b"\n")
    assert not part.final
    assert part.end == whole.end == whole.next
    rest = await cluster.read_log(RunId("1.1"), 0, offset=part.next, limit=1_000_000)
    assert part.data + rest.data == whole.data
    end = await cluster.read_log(RunId("1.1"), 0, offset=whole.next, limit=100)
    assert (end.start, end.next, end.data, end.final) == (whole.next, whole.next, b"", True)
    assert await cluster.read_log(RunId("1.1"), 0, offset=10**15, limit=100) == end


async def test_a_worker_process_reads_the_log_where_it_is_said_to_be(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.prints("one\ntwo")))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    place = cluster.log_place(RunId("1.1"))
    if place is None:
        return  # only the adapter can read it
    whole = await cluster.read_log(RunId("1.1"), 0, offset=0, limit=1000)
    assert read_place(place, 0, 0, 1000).data == whole.data
    assert whole.data.count(b"\n") == 2
    nowhere = cluster.log_place(RunId("7.1"))
    with pytest.raises(Absent):
        read_place(nowhere, 0, 0, 1000)


async def test_the_log_of_a_live_rank_is_not_final(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits()))
    await printed(harness, cluster, "1.1", "up")
    chunk = await cluster.read_log(RunId("1.1"), 0, offset=0, limit=1000)
    again = await cluster.read_log(RunId("1.1"), 0, offset=chunk.next, limit=1000)
    assert (again.data, again.next, again.final) == (b"", chunk.next, False)


async def test_logs_of_unknown_runs_and_ranks_are_not_found(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.prints("x")))
    for run_id, rank in (("1.1", 1), ("1.2", 0), ("2.1", 0), ("../1", 0)):
        with pytest.raises(Absent):
            await cluster.read_log(RunId(run_id), rank, offset=0, limit=100)


async def test_a_forgotten_run_is_gone_with_its_log(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.prints("x")))
    await cluster.launch(harness.launch(2, harness.prints("x"), "node-2"))
    for run_id in ("1.1", "2.1"):
        await ranks_when(harness, cluster, run_id, RankState.EXITED)
    await cluster.forget(RunId("1.1"))
    await cluster.forget(RunId("1.1"))
    assert [run.run_id for run in await cluster.observe()] == ["2.1"]
    with pytest.raises(Absent):
        await cluster.read_log(RunId("1.1"), 0, offset=0, limit=100)
    again = await harness.open()
    assert [run.run_id for run in await again.observe()] == ["2.1"]


async def test_a_settled_run_keeps_its_log(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.prints("hello")))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    await cluster.finalize(RunId("1.1"))
    await cluster.finalize(RunId("1.1"))
    assert await log_of(harness, cluster, "1.1") == "hello\n"
    await cluster.finalize(RunId("9.1"))


async def test_an_order_to_end_a_settled_run_that_comes_late_leaves_its_log_readable(harness, cluster) -> None:
    """The order was given before the run had ended by itself, and took longer than all that followed."""
    await cluster.launch(harness.launch(1, harness.prints("hello"), "node-1", "node-2"))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    await cluster.finalize(RunId("1.1"))

    async def settled() -> bool:
        return await harness.vanished(RunId("1.1"))

    await harness.settle(settled)
    for late in (await harness.open(), cluster):
        await late.kill(RunId("1.1"))
        for rank in (0, 1):
            assert await log_of(harness, late, "1.1", rank) == "hello\n"
        with pytest.raises(Absent):
            await late.read_log(RunId("1.1"), 2, offset=0, limit=100)
