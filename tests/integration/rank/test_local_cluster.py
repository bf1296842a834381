"""The local cluster where it differs from others: folders, crashes half-way, dead supervisors."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hai_client.linux.processes import read_process, read_table
from hai_scheduler.adapters.local import folders
from hai_scheduler.adapters.local.runs import LocalRank
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Absent, Temporary
from integration.rank.local_world import RUN, World
from integration.rank.local_world import world as world
from kit.waiting import until


async def test_the_checkpoint_folder_is_made(world: World) -> None:
    place = world.folder / "a" / "b"
    cluster = world.open()
    await cluster.launch(world.launch("test -d $HAI_CHECKPOINT_DIR", env={"HAI_CHECKPOINT_DIR": str(place)}))
    (rank,) = await world.ranks(cluster, RankState.EXITED)
    assert rank.exit_code == 0


async def test_folders_and_files_are_for_their_owner_only(world: World) -> None:
    cluster = world.open()
    await cluster.launch(world.launch("true"))
    await world.ranks(cluster, RankState.EXITED)
    modes = {path.name: path.stat().st_mode & 0o077 for path in world.settings.runs_dir.rglob("*")}
    private = {"5", "1", "0", "runtime", "reports", "log", "spec.json", "token", "status.json", "run.json"}
    assert {modes[name] for name in private} == {0}


class Crash(BaseException):
    """The death of the service at this point."""


@pytest.mark.parametrize("step", range(1, 8))
async def test_a_launch_that_stopped_half_way_is_completed(world: World, monkeypatch, step: int) -> None:
    launch = world.launch("echo x >> $HAI_RANK.count; sleep 60", "node-1", "node-2")
    left = step

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise Crash
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(folders, "write_once", dying(folders.write_once))
        patch.setattr(folders, "write_whole", dying(folders.write_whole))
        patch.setattr(LocalRank, "_spawn", dying(LocalRank._spawn))
        with pytest.raises(Crash):
            await world.open().launch(launch)
    cluster = world.open()
    await cluster.launch(launch)
    assert len(await world.ranks(cluster, RankState.RUNNING)) == 2

    async def counted() -> bool:
        counts = [world.folder / f"{rank}.count" for rank in (0, 1)]
        return all(count.exists() and count.stat().st_size for count in counts)

    await until("both ranks to have counted", counted)
    assert [(world.folder / f"{rank}.count").read_text() for rank in (0, 1)] == ["x\n", "x\n"]
    ports = {json.loads((world.rank_folder(n) / "spec.json").read_text())["env"]["MASTER_PORT"] for n in (0, 1)}
    assert len(ports) == 1


async def test_when_the_supervisor_is_killed_no_process_is_left_and_the_rank_is_lost(world: World) -> None:
    cluster = world.open()
    stubborn = "trap '' TERM; setsid sh -c 'trap \"\" TERM HUP; sleep 600' & setsid sleep 601 & echo up; sleep 602"
    await cluster.launch(world.launch(stubborn))

    async def up() -> bool:
        return len(world.processes()) >= 5

    await until("every process to be up", up)
    os.kill(int((world.rank_folder() / "lock").read_text()), signal.SIGKILL)
    (rank,) = await world.ranks(cluster, RankState.LOST)
    assert world.processes() == []
    assert rank.exit_code is None
    assert rank.supervisor_killed
    # A service that starts later always sees the same; but it cannot know what else has died with the rank (H4).
    (again,) = await world.ranks(world.open(), RankState.LOST)
    assert again == replace(rank, supervisor_killed=False)
    await cluster.launch(world.launch(stubborn))
    assert (await world.ranks(cluster, RankState.LOST)) == (rank,)


async def test_a_lost_rank_is_noticed_at_once_also_by_a_later_service(world: World) -> None:
    first = world.open()
    await first.launch(world.launch("sleep 600"))
    await world.ranks(first, RankState.RUNNING)
    await first.close()
    cluster = world.open()
    await cluster.observe()
    changes = cluster.changes()
    waiting = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    os.kill(int((world.rank_folder() / "lock").read_text()), signal.SIGKILL)
    await asyncio.wait_for(waiting, 60)
    await changes.aclose()
    await world.ranks(cluster, RankState.LOST)


async def test_what_has_lost_its_environment_is_found_by_the_supervisors_list(world: World) -> None:
    cluster = world.open()
    await cluster.launch(world.launch("env -i setsid sleep 600 & echo $! > pid; sleep 600"))

    async def listed() -> bool:
        pid = world.folder / "pid"
        known = world.rank_folder() / "processes"
        return pid.exists() and known.exists() and f"\n{pid.read_text().strip()} " in known.read_text()

    await until("the process to be in the supervisor's list", listed)
    os.kill(int((world.rank_folder() / "lock").read_text()), signal.SIGKILL)
    await world.ranks(cluster, RankState.LOST)
    left = read_process(int((world.folder / "pid").read_text()))
    assert left is None or left.zombie


async def test_a_run_of_another_platform_with_the_same_number_is_left_alone(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    theirs, ours = other.open(), world.open()
    await theirs.launch(other.launch("sleep 600", cwd="/"))
    await ours.launch(world.launch("sleep 600"))
    await world.ranks(ours, RankState.RUNNING)
    await other.ranks(theirs, RankState.RUNNING)
    os.kill(int((world.rank_folder() / "lock").read_text()), signal.SIGKILL)
    await world.ranks(ours, RankState.LOST)
    await other.ranks(theirs, RankState.RUNNING)
    await theirs.kill(RUN)
    await other.ranks(theirs, RankState.EXITED)
    await theirs.close()


async def test_a_supervisor_that_does_not_start_is_tried_again_and_then_reported(world: World) -> None:
    broken = world.folder / "python"
    broken.write_text("#!/bin/sh\necho x >> tries\necho something is wrong >&2\nexit 1\n")
    broken.chmod(0o700)
    cluster = world.open(python=str(broken))
    await cluster.launch(world.launch("true"))
    (rank,) = await world.ranks(cluster, RankState.EXITED)
    assert rank.exit_code is None
    assert rank.start_error == "its supervisor does not start: something is wrong"
    assert (world.rank_folder() / "tries").read_text() == "x\n" * 3


async def test_a_missing_python_is_reported(world: World) -> None:
    cluster = world.open(python="/no/such/python")
    await cluster.launch(world.launch("true"))
    (rank,) = await world.ranks(cluster, RankState.EXITED)
    assert (
        rank.start_error == "/no/such/python cannot be started: No such file or directory; correct the path of Python"
    )


async def test_folders_that_cannot_be_written_are_worth_another_try(world: World) -> None:
    (world.folder / "runs").write_text("in the way")
    cluster = world.open()
    with pytest.raises(Temporary, match=r"cannot be read: (File exists|Not a directory)"):
        await cluster.launch(world.launch("true"))
    (world.folder / "runs").unlink()
    await cluster.launch(world.launch("true"))
    await world.ranks(cluster, RankState.EXITED)


async def test_ended_runs_are_not_read_again(world: World) -> None:
    cluster = world.open()
    await cluster.launch(world.launch("true"))
    ranks = await world.ranks(cluster, RankState.EXITED)
    (world.rank_folder() / "status.json").write_text("{}")
    assert await world.ranks(cluster, RankState.EXITED) == ranks


async def test_supervisors_leave_no_zombie_in_the_service(world: World) -> None:
    before = zombies()
    cluster = world.open()
    await cluster.launch(world.launch("true", "node-1", "node-2"))
    await world.ranks(cluster, RankState.EXITED)

    async def none_left() -> bool:
        return zombies() <= before

    await until("every zombie to be gone", none_left)


def zombies() -> set[int]:
    """The ids of the zombies among the children of this process."""
    return {process.pid for process in read_table().values() if process.parent == os.getpid() and process.zombie}


async def test_services_that_share_the_folder_see_each_others_runs(world: World) -> None:
    world.settings = replace(world.settings, shared=True)
    one, other = world.open(), world.open()
    assert [*await one.observe(), *await other.observe()] == []
    launch = world.launch("echo x >> $HAI_RANK.count; sleep 60", "node-1", "node-2")
    await asyncio.gather(one.launch(launch), other.launch(launch))
    for cluster in (one, other):
        assert len(await world.ranks(cluster, RankState.RUNNING)) == 2

    async def counted() -> bool:
        return all((world.folder / f"{rank}.count").exists() for rank in (0, 1))

    await until("both ranks to have counted", counted)
    assert [(world.folder / f"{rank}.count").read_text() for rank in (0, 1)] == ["x\n", "x\n"]
    await other.kill(RUN)
    await world.ranks(one, RankState.EXITED)
    await world.ranks(other, RankState.EXITED)
    await one.forget(RUN)
    assert await other.observe() == []
    with pytest.raises(Absent):
        await other.read_log(RUN, 0, offset=0, limit=1)


async def test_a_rank_whose_service_ended_before_it_was_started_is_started_by_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(LocalRank, "_spawn", crash)
        with pytest.raises(Crash):
            await world.open().launch(world.launch("sleep 60"))
    assert len(await world.ranks(world.open(), RankState.RUNNING)) == 1


async def test_a_launcher_that_was_paused_before_it_starts_the_supervisor_starts_no_command(
    world: World, monkeypatch
) -> None:
    """The launcher has seen that the run is wanted; then another service ends the run, and finds no rank to end."""
    paused, other = world.open(shared=True), world.open(shared=True)
    spawn = LocalRank._spawn

    def late(rank: LocalRank) -> Any:
        folders.RunFolder(world.settings.runs_dir, RUN).mark_killed()
        return spawn(rank)

    monkeypatch.setattr(LocalRank, "_spawn", late)
    await paused.launch(world.launch("touch started"))
    (rank,) = await world.ranks(other, RankState.EXITED)
    assert (rank.exit_code, rank.start_error, rank.signalled) == (143, None, False)
    assert not (world.folder / "started").exists()


async def test_a_rank_that_was_prepared_since_the_last_look_is_not_taken_for_one_that_never_starts(
    world: World, monkeypatch
) -> None:
    starter, other = world.open(shared=True), world.open(shared=True)
    load = other._runs.load

    async def load_and_be_paused() -> None:
        await load()
        monkeypatch.undo()
        await starter.launch(world.launch("sleep 600"))
        await world.ranks(starter, RankState.RUNNING)
        folders.RunFolder(world.settings.runs_dir, RUN).mark_killed()

    other._runs.take(folders.RunFolder(other._root, RUN))
    monkeypatch.setattr(other._runs, "load", load_and_be_paused)
    (seen,) = await other.observe()
    assert seen.killed
    assert [rank.state for rank in seen.ranks] == [RankState.RUNNING]
    await other.kill(RUN)
    await world.ranks(other, RankState.EXITED)


async def test_an_order_to_end_a_run_of_which_a_part_had_ended_reaches_the_other_service(world: World) -> None:
    one, other = world.open(shared=True), world.open(shared=True)
    await one.launch(world.launch("true"))
    await world.ranks(other, RankState.EXITED)
    assert not (await other.observe())[0].killed
    await one.kill(RUN)
    assert (await other.observe())[0].killed


async def test_runs_that_have_ended_are_not_looked_at_ten_times_a_second(world: World, monkeypatch) -> None:
    cluster, looked = world.open(), []
    changed_at = folders.RankFolder.changed_at

    def counting(folder: folders.RankFolder) -> int:
        looked.append(folder.run_id)
        return changed_at(folder)

    await cluster.launch(world.launch("true"))
    await world.ranks(cluster, RankState.EXITED)
    monkeypatch.setattr(folders.RankFolder, "changed_at", counting)
    await cluster.launch(replace(world.launch("sleep 600"), run_id=RunId("6.1"), task_id=TaskId(6)))
    changes = cluster.changes()
    await anext(changes)
    await changes.aclose()
    assert set(looked) == {"6.1"}
    await cluster.kill(RunId("6.1"))
