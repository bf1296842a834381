"""The Cluster port, against every adapter."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from contract.cluster_harness import NODES, ClusterHarness, LocalHarness
from contract.memory_cluster_harness import MemoryHarness
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.errors import Absent, Temporary

ADAPTERS: dict[str, type[ClusterHarness]] = {"local": LocalHarness, "memory": MemoryHarness}


@pytest.fixture(params=sorted(ADAPTERS))
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ClusterHarness]:
    harness = ADAPTERS[request.param](tmp_path)
    yield harness
    await harness.close()


@pytest.fixture
async def cluster(harness: ClusterHarness) -> Cluster:
    return await harness.open()


async def observed(cluster: Cluster, run_id: str) -> Observation | None:
    return next((run for run in await cluster.observe() if run.run_id == run_id), None)


async def ranks_when(harness: ClusterHarness, cluster: Cluster, run_id: str, *states: RankState):
    """The ranks of a run as soon as all of them are in one of the states."""

    async def look() -> tuple[RankObservation, ...]:
        seen = await observed(cluster, run_id)
        return seen.ranks if seen and seen.ranks and all(rank.state in states for rank in seen.ranks) else ()

    return await harness.settle(look)


async def log_of(harness: ClusterHarness, cluster: Cluster, run_id: str, rank: int = 0) -> str:
    """The whole log, without times."""
    data, offset = b"", 0

    async def read() -> bool:
        nonlocal data, offset
        chunk = await cluster.read_log(RunId(run_id), rank, offset=offset, limit=400)
        assert (chunk.start, chunk.next) == (offset, offset + len(chunk.data))
        data, offset = data + chunk.data, chunk.next
        return chunk.final

    await harness.settle(read)
    return "".join(line.partition(" ")[2] for line in data.decode().splitlines(keepends=True))


async def printed(harness: ClusterHarness, cluster: Cluster, run_id: str, text: str, rank: int = 0) -> None:
    async def look() -> bool:
        chunk = await cluster.read_log(RunId(run_id), rank, offset=0, limit=10_000)
        return text.encode() in chunk.data

    await harness.settle(look)


async def test_the_nodes_are_those_of_the_settings_ready_and_unmarked(cluster) -> None:
    assert sorted(await cluster.nodes(), key=lambda node: node.name) == list(NODES)


async def test_a_cluster_without_runs_shows_none(cluster) -> None:
    assert await cluster.observe() == []


@pytest.mark.parametrize("status", [0, 1, 75])
async def test_every_rank_runs_and_ends_with_the_status_of_its_command(harness, cluster, status) -> None:
    await cluster.launch(harness.launch(1, harness.prints("hello", status=status), "node-1", "node-2"))
    ranks = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert [(rank.rank, rank.exit_code, rank.start_error) for rank in ranks] == [(0, status, None), (1, status, None)]
    assert await log_of(harness, cluster, "1.1", 1) == "hello\n"


async def test_a_rank_that_has_ended_says_when(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.prints("hello", status=1)))
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert rank.ended_at is not None
    (again,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert again.ended_at == rank.ended_at


async def test_a_rank_is_pending_or_running_until_it_has_ended(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits()))
    first = await observed(cluster, "1.1")
    assert first is not None
    assert first.ranks[0].state in (RankState.PENDING, RankState.RUNNING)
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
    await harness.release()
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert rank.exit_code == 0


async def test_repeating_a_launch_starts_no_rank_twice(harness, cluster) -> None:
    launch = harness.launch(1, harness.waits(), "node-1", "node-2")
    await cluster.launch(launch)
    await cluster.launch(launch)
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
    await cluster.launch(launch)
    await harness.release()
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    await cluster.launch(launch)
    assert len((await observed(cluster, "1.1")).ranks) == 2
    assert [await harness.starts(RunId("1.1"), rank) for rank in (0, 1)] == [1, 1]


async def test_launches_at_the_same_time_start_no_rank_twice_and_lose_none(harness, cluster) -> None:
    second = await harness.open()
    launch = harness.launch(1, harness.waits(), "node-1", "node-2")
    await asyncio.gather(*(which.launch(launch) for which in (cluster, second, cluster, second)))
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
    await harness.release()
    ranks = await ranks_when(harness, second, "1.1", RankState.EXITED)
    assert [rank.exit_code for rank in ranks] == [0, 0]
    assert [await harness.starts(RunId("1.1"), rank) for rank in (0, 1)] == [1, 1]


async def test_a_command_that_does_not_exist_is_the_users(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.missing()))
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert (rank.exit_code, rank.start_error) == (127, None)


async def test_a_node_that_does_not_exist_is_the_platforms(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits(), "node-9"))
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert rank.exit_code is None
    assert "node-9" in rank.start_error


async def test_two_runs_share_a_node_and_see_other_devices(harness, cluster) -> None:
    command = harness.devices()
    if command is None:
        pytest.skip("which devices a rank gets is not this adapter's to decide")
    await cluster.launch(harness.launch(1, command, gpus=((0, 3),)))
    await cluster.launch(harness.launch(2, command, gpus=((1, 2),)))
    seen = []
    for run_id in ("1.1", "2.1"):
        await ranks_when(harness, cluster, run_id, RankState.RUNNING)
        await printed(harness, cluster, run_id, "up")
        chunk = await cluster.read_log(RunId(run_id), 0, offset=0, limit=10_000)
        seen.append(chunk.data.decode().splitlines()[0].split()[-1].split(","))
    assert [len(devices) for devices in seen] == [2, 2]
    assert len({device for devices in seen for device in devices}) == 4
    await cluster.kill(RunId("1.1"))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    (other,) = (await observed(cluster, "2.1")).ranks
    assert other.state is RankState.RUNNING, "its neighbour's end is none of its business"


async def test_a_gpu_that_the_node_does_not_have_is_the_platforms(harness, cluster) -> None:
    launch = harness.launch(1, harness.waits(), gpus=((3, 99),))
    # Where nodes are real, the test does not know how many GPUs a node has.
    (node,) = (node for node in await cluster.nodes() if node.name == launch.nodes[0])
    await cluster.launch(launch)
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert rank.exit_code is None
    assert f"{node.name} has {node.gpus} GPUs, so there is no GPU 99" in rank.start_error


async def test_kill_ends_every_rank(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)

    async def commands_run() -> bool:
        return all([await harness.starts(RunId("1.1"), rank) for rank in (0, 1)])

    # Before that a supervisor may not hear a signal yet.
    await harness.settle(commands_run)
    await cluster.kill(RunId("1.1"))
    await cluster.kill(RunId("1.1"))
    ranks = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert all(harness.ended_with(rank.exit_code, 143) for rank in ranks)


async def test_a_rank_whose_supervisor_is_killed_is_lost_on_a_node_that_is_well(harness, cluster) -> None:
    """The loss is the task's own doing (H4), but the end of the other ranks is not."""
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
    if not await harness.kill_supervisor(RunId("1.1"), 1):
        pytest.skip("no supervisor of this adapter can be killed from outside")

    async def lost() -> tuple[RankObservation, ...]:
        run = await observed(cluster, "1.1")
        return run.ranks if run is not None and run.ranks[1].state is RankState.LOST else ()

    ranks = await harness.settle(lost)
    assert [rank.supervisor_killed for rank in ranks] == [False, True]
    await cluster.kill(RunId("1.1"))
    ranks = await ranks_when(harness, cluster, "1.1", RankState.EXITED, RankState.LOST)
    assert [rank.supervisor_killed for rank in ranks] == [False, True]


async def test_kill_ends_what_ignores_sigterm_too(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.resists()))
    await printed(harness, cluster, "1.1", "up")
    await cluster.kill(RunId("1.1"))
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert harness.ended_with(rank.exit_code, 137)


async def test_kill_right_after_launch_ends_it_whether_or_not_it_has_started(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))
    await cluster.kill(RunId("1.1"))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)


async def test_a_run_that_was_killed_is_not_started_by_a_late_launch(harness, cluster) -> None:
    launch = harness.launch(1, harness.waits())
    await cluster.launch(launch)
    await cluster.kill(RunId("1.1"))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    before = await harness.starts(RunId("1.1"), 0)
    await cluster.launch(launch)
    assert (await observed(cluster, "1.1")).ranks[0].state is RankState.EXITED
    assert await harness.starts(RunId("1.1"), 0) == before


async def test_a_run_that_is_settled_is_not_started_by_a_late_launch(harness, cluster) -> None:
    launch = harness.launch(1, harness.prints("x"))
    await cluster.launch(launch)
    (before,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    started = await harness.starts(RunId("1.1"), 0)
    await cluster.finalize(RunId("1.1"))
    await cluster.launch(launch)
    await (await harness.open()).launch(launch)
    assert (await observed(cluster, "1.1")).ranks == (before,)
    assert await harness.starts(RunId("1.1"), 0) == started


async def test_a_run_that_a_later_one_has_followed_is_not_started_by_a_late_launch(harness, cluster) -> None:
    early = harness.launch(1, harness.waits())
    later = replace(harness.launch(1, harness.waits(), "node-2"), run_id=RunId("1.10"))
    await cluster.launch(later)
    await cluster.launch(replace(early, run_id=RunId("1.9")))
    await (await harness.open()).launch(replace(early, run_id=RunId("1.9")))
    await ranks_when(harness, cluster, "1.10", RankState.RUNNING)
    assert [run.run_id for run in await cluster.observe()] == ["1.10"]
    await cluster.launch(replace(early, run_id=RunId("1.11")))
    await ranks_when(harness, cluster, "1.11", RankState.RUNNING)


async def test_what_a_broken_launch_has_left_out_is_not_started_after_a_kill(harness, cluster) -> None:
    if not await harness.break_launch(1):
        pytest.skip("launches of this adapter are not broken off on demand")
    launch = harness.launch(1, harness.waits(), "node-1", "node-2")
    with pytest.raises(Temporary):
        await cluster.launch(launch)
    await cluster.kill(RunId("1.1"))
    await cluster.launch(launch)
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert rank.rank == 0


async def test_a_run_that_was_killed_before_its_launch_is_never_started(harness, cluster) -> None:
    """The launch comes late: the service that ordered it was paused, and does not know that the run is over."""
    launch = harness.launch(1, harness.waits(), "node-1", "node-2")
    await cluster.kill(RunId("1.1"))
    await cluster.kill(RunId("1.1"))
    for late in (await harness.open(), cluster):
        await late.launch(launch)
        await late.kill(RunId("1.1"))
        await late.launch(launch)

    async def never() -> bool:
        seen = await observed(cluster, "1.1")
        return seen is not None and seen.killed and all(rank.state.gone for rank in seen.ranks)

    await harness.settle(never)
    seen = await observed(cluster, "1.1")
    assert seen is not None
    assert not [rank for rank in seen.ranks if rank.state is RankState.RUNNING or rank.start_error]
    for rank in (0, 1):
        with contextlib.suppress(Absent):
            assert await harness.starts(RunId("1.1"), rank) == 0
    assert seen.ranks == () or all(rank.exit_code == 143 for rank in seen.ranks)


async def test_a_run_that_was_killed_and_never_launched_is_no_trouble_and_can_be_forgotten(harness, cluster) -> None:
    await cluster.kill(RunId("1.1"))

    async def killed() -> bool:
        seen = await observed(cluster, "1.1")
        return seen is not None and seen.killed

    await harness.settle(killed)
    seen = await observed(cluster, "1.1")
    assert seen is not None
    assert (seen.ranks, seen.unfinalized) == ((), False)
    with pytest.raises(Absent):
        await cluster.addresses(RunId("1.1"))
    with pytest.raises(Absent):
        await cluster.read_log(RunId("1.1"), 0, offset=0, limit=100)
    await cluster.launch(replace(harness.launch(1, harness.waits()), run_id=RunId("1.2")))
    await ranks_when(harness, cluster, "1.2", RankState.RUNNING)
    await cluster.forget(RunId("1.1"))

    async def forgotten() -> bool:
        return await observed(cluster, "1.1") is None

    await harness.settle(forgotten)
    await cluster.kill(RunId("1.2"))
    await ranks_when(harness, cluster, "1.2", RankState.EXITED)


@pytest.mark.parametrize("first", ["launch", "kill"])
async def test_a_launch_and_a_kill_at_the_same_time_leave_nothing_running(harness, cluster, first) -> None:
    """This holds whichever comes first, and for two services; the service that kills has seen every rank that runs."""
    other = await harness.open()
    for number in range(1, 7):
        launch = harness.launch(number, harness.waits(), "node-1", "node-2")
        both = [cluster.launch(launch), other.kill(launch.run_id)]
        await asyncio.gather(*(both if first == "launch" else reversed(both)), return_exceptions=True)
        await other.kill(launch.run_id)

    async def gone() -> bool:
        for run in [*await other.observe(), *await cluster.observe()]:
            if not all(rank.state.gone for rank in run.ranks):
                await other.kill(run.run_id)  # as every tick does
                return False
        return True

    await harness.settle(gone)
    shown = {run.run_id: run for run in await other.observe()}
    assert sorted(shown) == [f"{number}.1" for number in range(1, 7)]
    assert all(run.killed for run in shown.values())
    assert not [rank for run in shown.values() for rank in run.ranks if rank.start_error]


async def test_kill_of_ended_and_of_unknown_runs_changes_nothing(harness, cluster) -> None:
    await cluster.kill(RunId("99.1"))
    await cluster.launch(harness.launch(1, harness.prints("x", status=3)))
    (before,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    await cluster.kill(RunId("1.1"))
    assert (await observed(cluster, "1.1")).ranks == (before,)


async def test_what_a_job_reports_is_observed(harness, cluster) -> None:
    command = harness.saves(step=7, state="epoch 3")
    if command is None:
        pytest.skip("jobs of this adapter say nothing of their own accord")
    await cluster.launch(harness.launch(1, command))

    async def done() -> RankObservation | None:
        (rank,) = (await observed(cluster, "1.1")).ranks
        return rank if rank.done else None

    rank = await harness.settle(done)
    assert rank.state is RankState.RUNNING
    assert (rank.checkpoint.step, rank.job_state, rank.done_all) == (7, "epoch 3", False)
    await cluster.kill(RunId("1.1"))
    (rank,) = await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    assert (rank.done, rank.checkpoint.step) == (True, 7)


async def test_runs_go_on_while_the_service_is_away_and_are_found_again(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.prints("early", status=4)))
    await cluster.launch(harness.launch(2, harness.waits(), "node-2"))
    await cluster.launch(harness.launch(3, harness.waits(), "node-3"))
    await ranks_when(harness, cluster, "1.1", RankState.EXITED)
    await ranks_when(harness, cluster, "2.1", RankState.RUNNING)
    await ranks_when(harness, cluster, "3.1", RankState.RUNNING)
    await cluster.close()
    second = await harness.open()
    seen = {run.run_id: run.ranks[0].state for run in await second.observe()}
    assert seen == {"1.1": RankState.EXITED, "2.1": RankState.RUNNING, "3.1": RankState.RUNNING}
    await second.kill(RunId("3.1"))
    (killed,) = await ranks_when(harness, second, "3.1", RankState.EXITED)
    await harness.release()
    (ended,) = await ranks_when(harness, second, "2.1", RankState.EXITED)
    assert harness.ended_with(killed.exit_code, 143)
    assert ended.exit_code == 0
    assert await log_of(harness, second, "1.1") == "early\n"


async def test_changes_wakes_up_when_a_rank_ends(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits()))
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
    changes = cluster.changes()
    ended = asyncio.ensure_future(_until_gone(changes, cluster))
    await harness.release()

    async def done() -> bool:
        return ended.done()

    await harness.settle(done)
    assert ended.result().ranks[0].exit_code == 0
    await changes.aclose()


async def _until_gone(changes: AsyncIterator[None], cluster: Cluster) -> Observation:
    async for _ in changes:
        run = await observed(cluster, "1.1")
        if run.ranks[0].state.gone:
            return run
    raise AssertionError("the changes ended")


async def test_a_live_run_is_not_forgotten(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits()))
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)
    with contextlib.suppress(Temporary):
        await cluster.forget(RunId("1.1"))
    assert (await observed(cluster, "1.1")).ranks[0].state is RankState.RUNNING


async def test_a_run_has_addresses_when_all_of_it_is_up(harness, cluster) -> None:
    await cluster.launch(harness.launch(1, harness.waits(), "node-1", "node-2"))
    await ranks_when(harness, cluster, "1.1", RankState.RUNNING)

    async def look() -> tuple[str, ...] | None:
        return await cluster.addresses(RunId("1.1"))

    addresses = await harness.settle(look)
    assert [bool(address) for address in addresses] == [True, True]
    await harness.release()


async def test_an_unknown_run_has_no_addresses(cluster) -> None:
    with pytest.raises(Absent):
        await cluster.addresses(RunId("9.1"))
