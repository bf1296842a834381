"""Ranks that the fork server starts are the same as ranks for which a new Python is started."""

from __future__ import annotations

import os
import random
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hai_client.linux.processes import read_arguments, read_environment, read_process, read_table
from hai_client.rank.forkserver import CommandLine, Unusable
from hai_client.rank.profiling import kineto
from hai_scheduler.adapters.local import starting
from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.starting import Forked, KeeperChild, Starter
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from integration.rank.test_local_cluster import RUN, World, world
from kit.waiting import until

__all__ = ["world"]


def fork_server(cluster: LocalCluster) -> int:
    pid = cluster._starter.server
    assert pid is not None
    return pid


def parent(pid: int) -> int:
    process = read_process(pid)
    return 0 if process is None else process.parent


def alive(pid: int) -> bool:
    process = read_process(pid)
    return process is not None and not process.zombie


async def running(world: World, cluster: LocalCluster, script: str = "sleep 600") -> tuple[int, int, int]:
    """Start a rank; returns the ids of its keeper, its supervisor and its command."""
    await cluster.launch(world.launch(script))
    await world.ranks(cluster, RankState.RUNNING)
    return together(world)


def together(world: World, rank: int = 0) -> tuple[int, int, int]:
    keeper = int((world.rank_folder(rank) / "lock").read_text())
    supervisor = next(pid for pid, process in read_table().items() if process.parent == keeper)
    return keeper, supervisor, next(pid for pid, process in read_table().items() if process.parent == supervisor)


def working_folder(pid: int) -> Path:
    return Path(f"/proc/{pid}/cwd").readlink()


def opened(pid: int) -> dict[str, str]:
    """The open files of a process, by file descriptor."""
    return {path.name: str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}


def socket_path(shown: str) -> str:
    """The path of a Unix socket that an open file is (`socket:[2711]`)."""
    inode = shown.strip("socket:[]")
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    return next(words[7] for words in lines if words[6] == inode and len(words) > 7)


def mine() -> int:
    """The number of open files of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def number_of(launch: LaunchOrder, number: int) -> LaunchOrder:
    return replace(launch, run_id=RunId(f"5.{number}"), task_id=TaskId(5))


async def test_a_keeper_is_forked_and_looks_as_one_that_a_python_was_started_for(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "a secret of the service")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/driver/lib64")
    cluster = world.open()
    keeper, supervisor, _ = await running(world, cluster)
    server = fork_server(cluster)
    assert parent(keeper) == server
    assert parent(server) == os.getpid()
    folder = world.rank_folder()
    for pid in (keeper, supervisor):
        words = [sys.executable, "-sP", "-m", "hai_client.rank", str(folder)]
        assert read_arguments(pid) == words
        assert working_folder(pid) == folder
        assert os.getsid(pid) == keeper
        assert b"JUPYTERHUB_API_TOKEN" not in read_environment(pid)
        assert read_environment(pid)[b"LD_LIBRARY_PATH"] == b"/opt/driver/lib64", "the GPUs' driver may be there"
    assert read_environment(keeper) == read_environment(server)


async def test_nothing_of_the_service_is_open_in_a_rank(world: World) -> None:
    cluster = world.open()
    # The second one is forked while a handle of the first is open in the server.
    await cluster.launch(world.launch("sleep 600", "node-1", "node-2"))
    await world.ranks(cluster, RankState.RUNNING)
    for rank in (0, 1):
        folder = world.rank_folder(rank)
        keeper, supervisor, command = together(world, rank)
        log = str(folder / "supervisor.log")
        assert sorted(opened(keeper).values()) == sorted(["/dev/null", log, log, str(folder / "lock")])
        own = [what for what in opened(supervisor).values() if "socket" in what or "pidfd" in what]
        assert [Path(socket_path(what)).name for what in own] == [kineto.SOCKET], "the one for processes of PyTorch"
        assert sorted(opened(command)) == ["0", "1", "2"]


async def test_the_server_ends_with_its_service_and_ranks_go_on(world: World) -> None:
    cluster = world.open()
    keeper, supervisor, command = await running(world, cluster)
    server = fork_server(cluster)
    await cluster.close()
    assert not alive(server)
    assert all(map(alive, (keeper, supervisor, command)))
    following = world.open()
    await world.ranks(following, RankState.RUNNING)
    await following.kill(RUN)
    (rank,) = await world.ranks(following, RankState.EXITED)
    assert rank.exit_code == 128 + signal.SIGTERM
    assert following._starter.server is None, "one that starts nothing needs none"


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
async def test_a_server_that_was_killed_is_started_again_and_ranks_go_on(world: World, blow: int) -> None:
    cluster = world.open()
    first = await running(world, cluster)
    dead = fork_server(cluster)
    os.kill(dead, blow)
    await until("the killed process to be gone", lambda: not alive(dead))
    assert all(map(alive, first))
    await cluster.kill(RUN)
    await world.ranks(cluster, RankState.EXITED)
    await cluster.launch(number_of(world.launch("sleep 600"), 2))
    (folder,) = [path for path in (world.settings.runs_dir / "5").iterdir() if path.name == "2"]
    await until("the first status", lambda: (folder / "0" / "status.json").exists())
    assert fork_server(cluster) != dead
    assert parent(int((folder / "0" / "lock").read_text())) == fork_server(cluster)
    await cluster.kill(RunId("5.2"))


async def test_a_server_that_answers_nothing_is_replaced(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "_ANSWER_S", 1.0)
    monkeypatch.setattr(starting, "_END_S", 0.1)
    cluster = world.open()
    await running(world, cluster)
    stopped = fork_server(cluster)
    await cluster.kill(RUN)
    await world.ranks(cluster, RankState.EXITED)
    os.kill(stopped, signal.SIGSTOP)
    await cluster.launch(number_of(world.launch("touch started; sleep 600"), 2))
    await until("the command to start", lambda: (world.folder / "started").exists())
    assert not alive(stopped)
    await cluster.kill(RunId("5.2"))


async def test_where_no_server_can_be_had_ranks_start_a_python_of_their_own(world: World) -> None:
    """Another Python, on which the fork server cannot be used."""
    python = world.folder / "python"
    python.write_text(f'#!/bin/sh\ncase "$*" in *forkserver*) exit 1;; esac\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    cluster = world.open(python=str(python))
    await cluster.launch(world.launch("exit 3"))
    (rank,) = await world.ranks(cluster, RankState.EXITED)
    assert (rank.exit_code, cluster._starter.server) == (3, None)


@pytest.mark.parametrize("victim", ["keeper", "supervisor"])
async def test_whichever_of_the_two_dies_nothing_of_the_rank_is_left(world: World, victim: str) -> None:
    nap = str(random.SystemRandom().randrange(10**6, 10**9))
    cluster = world.open()
    script = f"env -i setsid sh -c 'trap \"\" TERM HUP INT; sleep {nap}; sleep {nap}' & sleep 600"
    keeper, supervisor, _ = await running(world, cluster, script)

    def naps() -> list[int]:
        return [pid for pid in read_table() if alive(pid) and read_arguments(pid) == ["sleep", nap]]

    await until("the naps to start", lambda: naps())
    os.kill(keeper if victim == "keeper" else supervisor, signal.SIGKILL)
    await world.ranks(cluster, RankState.LOST)
    assert (naps(), world.processes(), alive(keeper), alive(supervisor)) == ([], [], False, False)


async def test_a_keeper_that_has_ended_leaves_no_zombie_and_no_handle(world: World) -> None:
    cluster = world.open()
    before = mine()
    await cluster.launch(world.launch("true"))
    await world.ranks(cluster, RankState.EXITED)
    keeper = int((world.rank_folder() / "lock").read_text())
    await until("the keeper to be gone", lambda: read_process(keeper) is None)
    # The connection to the fork server stays.
    await until("the open files to be closed", lambda: mine() <= before + 1)


def test_many_threads_at_once_get_each_their_own_and_a_second_start_is_none(tmp_path: Path) -> None:
    starter = Starter(sys.executable)
    folders = [tmp_path / str(number) for number in range(30)]
    for folder in folders:
        folder.mkdir()
    try:
        with ThreadPoolExecutor(8) as pool:
            started = list(pool.map(starter.start, [*folders, *folders]))
        assert all(isinstance(one, Forked) for one in started)
        assert len({one.pid for one in started}) == 60
        deadline = 500
        while not all(one.ended() for one in started) and deadline:
            deadline -= 1
            signal.sigtimedwait([], 0.02)
        # Nothing can be written in these folders; each supervisor has said so once.
        said = [(folder / "status.json").exists() for folder in folders]
        assert said == [True] * 30
    finally:
        starter.close()


def test_a_child_that_was_let_go_is_not_waited_for(tmp_path: Path) -> None:
    child = Starter(sys.executable)._spawn(tmp_path, 2)
    started = KeeperChild(child)
    started.let_go()
    assert started.ended()
    os.waitpid(child.pid, 0)


def test_a_command_line_has_so_much_room_and_no_more() -> None:
    shown = CommandLine()
    with pytest.raises(Unusable, match="no room"):
        shown.write(["x" * 10_000_000])


async def test_a_rank_whose_output_cannot_be_opened_is_not_started_and_says_why(world: World) -> None:
    cluster = world.open()
    (world.rank_folder() / "supervisor.log").mkdir(parents=True)
    with pytest.raises(Temporary, match=r"run 5\.1 cannot be started: Is a directory"):
        await cluster.launch(world.launch("true"))
