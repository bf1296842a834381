"""The local cluster where it differs from others: folders, crashes half-way, dead supervisors."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hai_client.rank.processes import read_environment, read_process, read_table
from hai_scheduler.adapters.local import LocalCluster, LocalNode, LocalSettings, folders
from hai_scheduler.adapters.local.runs import LocalRank, LocalRun
from hai_scheduler.core.leaving import Signal, SignalName
from hai_scheduler.core.model import Node, RankObservation, RankState, RunId, TaskId
from hai_scheduler.ports import Launch, NotFound, Temporary
from hai_scheduler.secret import Secret

RUN = RunId("5.1")


async def settle(look: Callable[[], Awaitable[Any]]) -> Any:
    end = time.monotonic() + 15
    while not (seen := await look()):
        assert time.monotonic() < end
        await asyncio.sleep(0.02)
    return seen


class World:
    """A folder, settings, and the clusters on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = LocalSettings(
            runs_dir=folder / "runs",
            nodes=(
                LocalNode(node=Node(name="node-1", gpus=2), gpu_ids=(2, 3)),
                LocalNode(node=Node(name="node-2", gpus=8)),
            ),
            api_url="http://127.0.0.1:9/api",
            path_prefix=(str(Path(sys.executable).parent),),
            term_wait_s=0.3,
        )
        self.clusters: list[LocalCluster] = []

    def open(self, **changes: Any) -> LocalCluster:
        self.clusters.append(LocalCluster(replace(self.settings, **changes)))
        return self.clusters[-1]

    def launch(self, script: str, *nodes: str, **changes: Any) -> Launch:
        base = Launch(
            run_id=RUN,
            task_id=TaskId(5),
            user="alice",
            nodes=nodes or ("node-1",),
            command=("sh", "-c", script),
            cwd=str(self.folder),
            env={"HAI_TASK_NAME": "digits"},
            profile="sigterm",
            token=Secret("run:5.1:secret"),
        )
        return replace(base, **changes)

    def rank_folder(self, rank: int = 0) -> Path:
        return self.settings.runs_dir / "5" / "1" / str(rank)

    def processes(self) -> list[int]:
        """Processes of ranks, the supervisors left out."""
        here = os.fsencode(self.settings.runs_dir)
        table = read_table()
        return [pid for pid in table if read_environment(pid).get(b"HAI_RUNTIME_DIR", b"").startswith(here)]

    async def ranks(self, cluster: LocalCluster, *states: RankState) -> tuple[RankObservation, ...]:
        async def look() -> tuple[RankObservation, ...]:
            runs = await cluster.observe()
            ranks = runs[0].ranks if runs else ()
            return ranks if all(rank.state in states for rank in ranks) else ()

        return await settle(look)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    last = world.open()
    await last.kill(RUN)

    async def gone() -> bool:
        return all(rank.state.gone for run in await last.observe() for rank in run.ranks)

    await settle(gone)
    assert world.processes() == []
    for cluster in world.clusters:
        await cluster.close()


async def environment(world: World, launch: Launch, rank: int = 0) -> dict[str, str]:
    cluster = world.open()
    await cluster.launch(replace(launch, command=("/usr/bin/env", "-0")))
    await world.ranks(cluster, RankState.EXITED)
    log = (await cluster.read_log(RUN, rank, offset=0, limit=1 << 20)).data.decode().partition(" ")[2]
    return dict(entry.split("=", 1) for entry in log.rstrip("\n").split("\0") if entry)


async def test_a_rank_sees_where_it_is(world: World) -> None:
    env = await environment(world, world.launch("", "node-2", "node-1", env={"PATH": "/mine", "RANK": "9"}), rank=1)
    folder = world.rank_folder(1)
    assert env["HAI_RANK"] == env["RANK"] == env["PET_NODE_RANK"] == "1"
    assert (env["HAI_NODE_NAME"], env["HAI_NODE_LIST"]) == ("node-1", "node-2,node-1")
    assert env["WORLD_SIZE"] == env["PET_NNODES"] == env["HAI_NODES"] == "2"
    assert env["CUDA_VISIBLE_DEVICES"] == env["NVIDIA_VISIBLE_DEVICES"] == "2,3"
    assert env["PET_NPROC_PER_NODE"] == "2"
    assert (env["MASTER_ADDR"], env["MASTER_IP"]) == ("127.0.0.1", "127.0.0.1")
    assert env["MASTER_PORT"] == env["PET_MASTER_PORT"]
    assert env["HAI_RUNTIME_DIR"] == str(folder / "runtime")
    assert env["HAI_TOKEN_FILE"] == str(folder / "token")
    assert (folder / "token").read_text() == "run:5.1:secret"
    assert env["PATH"] == f"{Path(sys.executable).parent}:/mine"
    assert env["USER"] == "alice"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder


async def test_the_users_own_python_runs_and_finds_the_in_job_api(world: World, venv: Path) -> None:
    """Of the platform it has nothing but the client, as one file."""
    code = "import sys, hai_client.job as job; print(sys.prefix, job.__file__, job.rank, *sys.path)"
    launch = world.launch("", "node-1", env={"HAI_VENV": str(venv), "PYTHONPATH": "/mine"})
    cluster = world.open()
    await cluster.launch(replace(launch, command=("python", "-c", code)))
    await world.ranks(cluster, RankState.EXITED)
    log = (await cluster.read_log(RUN, 0, offset=0, limit=1 << 20)).data.decode().partition(" ")[2].split()
    assert log[0] == str(venv)
    assert re.fullmatch(r".*/runs/\.client/hai-[0-9a-f]{12}\.pyz/hai_client/job\.py", log[1])
    assert log[2] == "0"
    assert "/mine" in log
    assert not [path for path in log[3:] if path.startswith(str(Path(sys.executable).parent.parent))]


async def test_a_python_that_is_not_there_is_said_and_the_platforms_runs(world: World) -> None:
    cluster = world.open()
    launch = world.launch("", "node-1", env={"HAI_VENV": "/no/such/venv"})
    await cluster.launch(replace(launch, command=("python", "-c", "import sys; print(sys.prefix)")))
    await world.ranks(cluster, RankState.EXITED)
    log = (await cluster.read_log(RUN, 0, offset=0, limit=1 << 20)).data.decode()
    assert "[hai] /no/such/venv has no Python on this node, so the next one on PATH is used" in log
    assert sys.prefix in log


async def test_simulated_gpus_are_not_real_ones(world: World) -> None:
    env = await environment(world, world.launch("", "node-2"))
    assert (env["CUDA_VISIBLE_DEVICES"], env["PET_NPROC_PER_NODE"]) == ("", "8")


async def test_a_rank_that_shares_its_node_sees_its_own_gpus_alone(world: World) -> None:
    launch = world.launch("", "node-1", "node-2", gpus=((1,), (4,)), env={"CUDA_VISIBLE_DEVICES": "0,1,2,3"})
    env = await environment(world, launch)
    assert env["CUDA_VISIBLE_DEVICES"] == env["NVIDIA_VISIBLE_DEVICES"] == "3", "the device's own number"
    assert env["PET_NPROC_PER_NODE"] == "1"


async def test_a_part_of_simulated_gpus_is_counted_and_shows_none(world: World) -> None:
    env = await environment(world, world.launch("", "node-2", gpus=((0, 5, 7),)))
    assert (env["CUDA_VISIBLE_DEVICES"], env["NVIDIA_VISIBLE_DEVICES"]) == ("", "void")
    assert env["PET_NPROC_PER_NODE"] == "3"


async def test_secrets_of_the_service_reach_neither_job_nor_supervisor(world: World, monkeypatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "hush-hush")
    monkeypatch.setenv("HAI_DATABASE", "hush-hush")
    cluster = world.open()
    await cluster.launch(world.launch("tr '\\0' '\\n' < /proc/$PPID/environ; env; sleep 60", env={"JUPYTERHUB_X": "1"}))

    async def log() -> bytes:
        return (await cluster.read_log(RUN, 0, offset=0, limit=1 << 20)).data

    text = await settle(log)
    assert b"hush-hush" not in text
    assert b"JUPYTERHUB" not in text


async def test_the_slurm_profile_adds_its_environment_and_scontrol(world: World) -> None:
    launch = world.launch("", "node-1", "node-2", profile="slurm", env={"HAI_TASK_NAME": "n", "HAI_RESTARTS": "3"})
    env = await environment(world, launch, rank=1)
    slurm = {name: value for name, value in env.items() if name.startswith("SLURM")}
    cpus = slurm["SLURM_CPUS_ON_NODE"]
    assert slurm == {
        "SLURM_CLUSTER_NAME": "hai",
        "SLURM_JOB_ID": "5",
        "SLURM_JOBID": "5",
        "SLURM_JOB_NAME": "n",
        "SLURM_JOB_USER": "alice",
        "SLURM_JOB_PARTITION": "training",
        "SLURM_JOB_NODELIST": "127.0.0.1,127.0.0.2",
        "SLURM_NODELIST": "127.0.0.1,127.0.0.2",
        "SLURM_STEP_NODELIST": "127.0.0.1,127.0.0.2",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_NNODES": "2",
        "SLURM_STEP_NUM_NODES": "2",
        "SLURM_NODEID": "1",
        "SLURMD_NODENAME": "127.0.0.2",
        "SLURM_TOPOLOGY_ADDR": "127.0.0.2",
        "SLURM_TOPOLOGY_ADDR_PATTERN": "node",
        "SLURM_CPUS_ON_NODE": cpus,
        "SLURM_JOB_CPUS_PER_NODE": f"{cpus}(x2)",
        "SLURM_GPUS_ON_NODE": slurm["SLURM_GPUS_ON_NODE"],
        "SLURM_SUBMIT_DIR": launch.cwd,
        "SLURM_SUBMIT_HOST": "127.0.0.1",
        "SLURM_RESTART_COUNT": "3",
        "SLURM_JOB_RESTART_COUNT": "3",
        "SLURM_STEP_ID": "0",
        "SLURM_STEPID": "0",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
        "SLURM_TASKS_PER_NODE": "1(x2)",
        "SLURM_NTASKS": "2",
        "SLURM_NPROCS": "2",
        "SLURM_NTASKS_PER_NODE": "1",
        "SLURM_PROCID": "1",
        "SLURM_LOCALID": "0",
        "SLURM_GTIDS": "1",
        "SLURM_DISTRIBUTION": "block",
        "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1",
        "SLURM_SRUN_COMM_HOST": "127.0.0.1",
    }
    assert env["SUBMITIT_PREEMPT_SIGNAL"] == "USR1"
    assert os.access(Path(env["PATH"].split(":")[0]) / "scontrol", os.X_OK)


async def test_what_a_task_asks_of_leaving_is_written_for_its_supervisor(world: World) -> None:
    asked = replace(
        world.launch("true"),
        signal=Signal(name=SignalName.USR1, before=timedelta(seconds=60)),
        patience=timedelta(seconds=5),
        watch=("out/last.pt",),
    )
    cluster = world.open()
    await cluster.launch(asked)
    await world.ranks(cluster, RankState.EXITED)
    spec = json.loads((world.rank_folder(0) / "spec.json").read_text())
    wanted = {"signal": "USR1", "signal_before_s": 60.0, "patience_s": 5.0, "watch": ["out/last.pt"]}
    assert {name: spec[name] for name in wanted} == wanted


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
    """The service dies here."""


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

    await settle(counted)
    assert [(world.folder / f"{rank}.count").read_text() for rank in (0, 1)] == ["x\n", "x\n"]
    ports = {json.loads((world.rank_folder(n) / "spec.json").read_text())["env"]["MASTER_PORT"] for n in (0, 1)}
    assert len(ports) == 1


async def test_when_the_supervisor_is_killed_no_process_is_left_and_the_rank_is_lost(world: World) -> None:
    cluster = world.open()
    stubborn = "trap '' TERM; setsid sh -c 'trap \"\" TERM HUP; sleep 600' & setsid sleep 601 & echo up; sleep 602"
    await cluster.launch(world.launch(stubborn))

    async def up() -> bool:
        return len(world.processes()) >= 5

    await settle(up)
    os.kill(int((world.rank_folder() / "lock").read_text()), signal.SIGKILL)
    (rank,) = await world.ranks(cluster, RankState.LOST)
    assert world.processes() == []
    assert rank.exit_code is None
    assert rank.supervisor_killed
    # The same for a service that comes later, and for ever; but it cannot know what else has died with the rank (H4).
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

    await settle(listed)
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

    await settle(none_left)


def zombies() -> set[int]:
    """Children of this process that nobody has collected."""
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

    await settle(counted)
    assert [(world.folder / f"{rank}.count").read_text() for rank in (0, 1)] == ["x\n", "x\n"]
    await other.kill(RUN)
    await world.ranks(one, RankState.EXITED)
    await world.ranks(other, RankState.EXITED)
    await one.forget(RUN)
    assert await other.observe() == []
    with pytest.raises(NotFound):
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
    """It has seen that the run is wanted. Meanwhile another service ends the run, and finds no rank to end."""
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
    load = other._load

    async def load_and_be_paused() -> None:
        await load()
        monkeypatch.undo()
        await starter.launch(world.launch("sleep 600"))
        await world.ranks(starter, RankState.RUNNING)
        folders.RunFolder(world.settings.runs_dir, RUN).mark_killed()

    other._runs[RUN] = LocalRun(folders.RunFolder(other._root, RUN), other._starter)
    monkeypatch.setattr(other, "_load", load_and_be_paused)
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
