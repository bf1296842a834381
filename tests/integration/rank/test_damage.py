"""Every file of a run's folder, in every state that a power cut or a hand can leave it in, on the local cluster."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hai_client.linux.processes import children_of, read_table
from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.runs import LocalRank
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.run import RankState
from integration.rank.test_local_cluster import RUN, Crash, World
from kit.waiting import until

NEIGHBOUR = RunId("6.1")
#: Ways in which a file may be damaged. The token of another run, or a part of a token, looks like a right one.
DAMAGE: dict[str, Callable[[Path], None]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "zeros": lambda path: path.write_bytes(b"\0" * path.stat().st_size),
    "garbage": lambda path: path.write_bytes(b"\xff\xfe[[[" * 50),
    "another type": lambda path: path.write_text("[1]\n"),
    "a folder": lambda path: (path.unlink(), (path / "in it").mkdir(parents=True)),  # type: ignore[func-returns-value]
}
COUNTS = "echo x >> $HAI_RUN_ID.count; "


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    last = world.open()
    for run in (RUN, NEIGHBOUR):
        await last.kill(run)

    async def gone() -> bool:
        return all(rank.state.gone for run in await last.observe() for rank in run.ranks)

    await until("every rank to be gone", gone)
    assert world.processes() == []
    for cluster in world.clusters:
        await cluster.close()


async def neighbour(world: World, cluster: LocalCluster) -> None:
    """Start a run beside the damaged one, which must go on."""
    launch = world.launch(COUNTS + "sleep 600", "node-2")
    await cluster.launch(replace(launch, run_id=NEIGHBOUR, task_id=TaskId(6)))
    await state_of(cluster, NEIGHBOUR, RankState.RUNNING)


async def state_of(cluster: LocalCluster, run: RunId, *states: RankState) -> Any:
    """The rank of the run, as soon as it is in one of the states."""

    async def look() -> Any:
        ranks = [rank for seen in await cluster.observe() if seen.run_id == run for rank in seen.ranks]
        return ranks[0] if ranks and ranks[0].state in states else None

    return await until(f"run {run} to be {', '.join(states)}", look)


def platform_of(world: World) -> list[int]:
    """The ids of the keeper and the supervisor of the rank."""
    keeper = int((world.rank_folder() / "lock").read_text())
    return [keeper, *children_of(read_table()).get(keeper, ())]


def cut_the_power(world: World) -> None:
    """Kill all processes of the rank at the same moment."""
    everything = [*platform_of(world), *(pid for pid in world.processes() if neighbours(pid, world) is False)]
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    for pid in everything:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def neighbours(pid: int, world: World) -> bool:
    from hai_client.linux.processes import read_environment

    return read_environment(pid).get(b"HAI_RUN_ID") == NEIGHBOUR.encode()


def counted(world: World, run: RunId = RUN) -> str:
    count = world.folder / f"{run}.count"
    return count.read_text() if count.exists() else ""


def path_of(world: World, name: str) -> Path:
    return world.rank_folder().parent / name if name in ("run.json", "kill") else world.rank_folder() / name


@pytest.mark.parametrize("damage", [name for name in DAMAGE if name != "half"])
@pytest.mark.parametrize("name", ["run.json", "spec.json", "token"])
async def test_a_launch_that_a_power_cut_has_left_in_pieces_is_made_whole(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, damage: str
) -> None:
    if (name, damage) == ("token", "another type"):
        pytest.skip("any text may be a token")

    def crash(*_: Any) -> None:
        raise Crash

    launch = world.launch(COUNTS + "sleep 600")
    with monkeypatch.context() as patch:
        patch.setattr(LocalRank, "_spawn", crash)
        with pytest.raises(Crash):
            await world.open().launch(launch)
    DAMAGE[damage](path_of(world, name))
    cluster = world.open()
    await neighbour(world, cluster)
    await cluster.launch(launch)
    await state_of(cluster, RUN, RankState.RUNNING)
    await until("the command to have counted", lambda: counted(world))
    assert counted(world) == "x\n"
    order = json.loads((world.rank_folder() / "spec.json").read_text())
    record = json.loads((world.rank_folder().parent / "run.json").read_text())
    assert order["env"]["MASTER_PORT"] == str(record["master_port"])
    assert (world.rank_folder() / "token").read_text() == "run:5.1:secret"


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    "name", ["run.json", "spec.json", "token", "status.json", "begun", "lock", "processes", "supervisor.log"]
)
async def test_a_run_that_a_power_cut_has_ended_is_lost_and_never_starts_again(
    world: World, name: str, damage: str
) -> None:
    launch = world.launch(COUNTS + "sleep 600")
    first = world.open()
    await first.launch(launch)
    await state_of(first, RUN, RankState.RUNNING)
    await until(
        "the command to have counted", lambda: counted(world) and (name != "processes" or path_of(world, name).exists())
    )
    await first.close()
    cut_the_power(world)
    DAMAGE[damage](path_of(world, name))
    cluster = world.open()
    await neighbour(world, cluster)
    lost = await state_of(cluster, RUN, RankState.LOST)
    assert "was killed, or the machine was switched off" in lost.message
    assert ("status.json cannot be read" in lost.message) == (name == "status.json")
    await cluster.launch(launch)
    again = world.open()
    await again.launch(launch)
    assert (await state_of(again, RUN, RankState.LOST)).message == lost.message
    assert counted(world) == "x\n"
    assert [pid for pid in world.processes() if not neighbours(pid, world)] == []
    await state_of(cluster, NEIGHBOUR, RankState.RUNNING)
    await cluster.forget(RUN)
    assert not world.rank_folder().exists()


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    "name", ["run.json", "spec.json", "token", "status.json", "begun", "lock", "runtime/notice.json"]
)
async def test_a_live_run_whose_files_are_damaged_is_never_doubled_and_can_be_ended(
    world: World, name: str, damage: str
) -> None:
    launch = world.launch(COUNTS + "sleep 600")
    cluster = world.open()
    await cluster.launch(launch)
    await state_of(cluster, RUN, RankState.RUNNING)
    await until("the command to have counted", lambda: counted(world))
    if name == "runtime/notice.json":
        path_of(world, name).write_text("{}")
    await neighbour(world, cluster)
    DAMAGE[damage](path_of(world, name))
    later = world.open()
    for each in (cluster, later):
        await each.launch(launch)
        await state_of(each, RUN, RankState.RUNNING)
    await later.kill(RUN)
    ended = await state_of(later, RUN, RankState.EXITED, RankState.LOST)
    assert (ended.state, ended.exit_code) == (RankState.EXITED, 143)
    assert counted(world) == "x\n"
    assert [pid for pid in world.processes() if not neighbours(pid, world)] == []
    await state_of(later, NEIGHBOUR, RankState.RUNNING)


async def test_files_where_folders_belong_are_put_aside(world: World) -> None:
    world.settings.runs_dir.mkdir()
    (world.settings.runs_dir / "5").write_text("in the way")
    cluster = world.open()
    await cluster.launch(world.launch("true"))
    assert (await state_of(cluster, RUN, RankState.EXITED)).exit_code == 0
    assert [path.read_text() for path in world.settings.runs_dir.glob(".aside-*")] == ["in the way"]


async def test_names_that_are_none_of_ours_are_left_alone(world: World) -> None:
    for name in ("5x/1", "5/1x/0", "5/1/0x", "5/\u0661", "notes"):
        (world.settings.runs_dir / name).mkdir(parents=True)
        (world.settings.runs_dir / name / "spec.json").write_text("{}")
    cluster = world.open()
    await cluster.launch(world.launch("true"))
    assert (await state_of(cluster, RUN, RankState.EXITED)).exit_code == 0
    assert [run.run_id for run in await cluster.observe()] == [RUN]


async def test_a_folder_that_cannot_be_read_keeps_what_was_known_and_stops_no_other_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hai_scheduler.adapters.local.folders import RankFolder

    cluster = world.open()
    await cluster.launch(world.launch("sleep 600"))
    await state_of(cluster, RUN, RankState.RUNNING)
    await neighbour(world, cluster)
    real = RankFolder.status

    def status(folder: RankFolder) -> Any:
        if folder.run_id == RUN:
            raise OSError(5, "Input/output error")
        return real(folder)

    with monkeypatch.context() as patch:
        patch.setattr(RankFolder, "status", status)
        known = await state_of(cluster, RUN, RankState.RUNNING)
        assert known.message == "its folder cannot be read: Input/output error"
        await cluster.kill(NEIGHBOUR)
        await state_of(cluster, NEIGHBOUR, RankState.EXITED)
    assert (await state_of(cluster, RUN, RankState.RUNNING)).message is None


async def test_what_remains_of_a_removed_folder_is_not_started_by_a_later_service(world: World) -> None:
    cluster = world.open()
    await cluster.launch(world.launch("sleep 600"))
    await state_of(cluster, RUN, RankState.RUNNING)
    everybody = platform_of(world)
    shutil.rmtree(world.settings.runs_dir)

    async def ended() -> bool:
        table = read_table()
        return not any(pid in table and not table[pid].zombie for pid in everybody) and not world.processes()

    await until("every process of the platform to end", ended)
