"""The environment of a rank of the local cluster, and the orders to its supervisor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from hai_scheduler.core.model.leaving import Signal, SignalName
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.cluster import LaunchOrder
from integration.rank.local_world import RUN, World
from integration.rank.local_world import world as world
from kit.waiting import until


async def environment(world: World, launch: LaunchOrder, rank: int = 0) -> dict[str, str]:
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
    """From the platform, that Python has only the client, as one file."""
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

    text = await until("a log", log)
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
