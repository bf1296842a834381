"""Slurm's variables, for jobs and for the tasks of their steps (sbatch(1), srun(1))."""

from __future__ import annotations

from typing import Any

import pytest

from hai_client.launching import variables
from hai_client.launching.layout import Layout
from hai_client.launching.variables import (
    TORCH,
    cpus_here,
    job_variables,
    loopbacks,
    step_variables,
    torch_variables,
    without_step,
)

ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def job(**changes: Any) -> dict[str, str]:
    given: dict[str, Any] = {
        "task_id": 41, "name": "mae", "user": "ann", "addresses": ADDRESSES, "rank": 1, "gpus": 8, "cpus": 64,
        "devices": "0,1", "submit_dir": "/work", "partition": "a100", "restarts": "0",
    }  # fmt: skip
    return {name.replace("SLURM_", ""): value for name, value in job_variables(**{**given, **changes}).items()}


def test_a_job_is_described_on_each_of_its_nodes() -> None:
    found = job()
    assert (found["JOB_ID"], found["JOBID"], found["JOB_NAME"], found["JOB_USER"]) == ("41", "41", "mae", "ann")
    assert found["JOB_NODELIST"] == found["NODELIST"] == "10.0.0.1,10.0.0.2,10.0.0.3"
    assert found["JOB_NUM_NODES"] == found["NNODES"] == "3"
    assert (found["NODEID"], found["SLURMD_NODENAME"]) == ("1", "10.0.0.2")
    assert (found["CPUS_ON_NODE"], found["JOB_CPUS_PER_NODE"], found["GPUS_ON_NODE"]) == ("64", "64(x3)", "8")
    assert (found["SUBMIT_DIR"], found["SUBMIT_HOST"], found["JOB_PARTITION"]) == ("/work", "10.0.0.1", "a100")


@pytest.mark.parametrize(("restarts", "known"), [("0", False), ("1", True), ("12", True)])
def test_only_a_job_that_was_started_again_says_how_often(restarts: str, *, known: bool) -> None:
    found = job(restarts=restarts)
    assert found["RESTART_COUNT"] == restarts
    assert found.get("JOB_RESTART_COUNT") == (restarts if known else None)


def test_devices_that_are_unknown_are_not_said() -> None:
    assert job()["JOB_GPUS"] == "0,1"
    assert "JOB_GPUS" not in job(devices="")


def step(layout: Layout, index: int, local: int) -> dict[str, str]:
    found = step_variables(layout, ADDRESSES, index=index, local=local, step="5")
    return {name.replace("SLURM_", ""): value for name, value in found.items()}


@pytest.mark.parametrize(
    ("index", "local", "procid", "gtids"), [(0, 0, "0", "0,1"), (0, 1, "1", "0,1"), (1, 0, "2", "2")]
)
def test_each_task_of_a_step_knows_which_it_is(index: int, local: int, procid: str, gtids: str) -> None:
    # On the second and the third node of the job.
    found = step(Layout([1, 2], [2, 1]), index, local)
    assert (found["PROCID"], found["LOCALID"], found["NODEID"], found["GTIDS"]) == (
        procid,
        str(local),
        str(index),
        gtids,
    )
    assert (found["NTASKS"], found["NPROCS"], found["STEP_NUM_TASKS"]) == ("3", "3", "3")
    assert (found["NNODES"], found["STEP_NUM_NODES"], found["STEP_NODELIST"]) == ("2", "2", "10.0.0.2,10.0.0.3")
    assert found["TASKS_PER_NODE"] == found["STEP_TASKS_PER_NODE"] == "2,1"
    assert found["LAUNCH_NODE_IPADDR"] == "10.0.0.2"
    assert (found["STEP_ID"], found["STEPID"]) == ("5", "5")


@pytest.mark.parametrize(("counts", "each"), [([2, 2], "2"), ([3], "3"), ([2, 1], None)])
def test_a_number_for_each_node_is_said_only_where_it_is_the_same(counts: list[int], each: str | None) -> None:
    assert step(Layout(range(len(counts)), counts), 0, 0).get("NTASKS_PER_NODE") == each


def test_torch_counts_processes() -> None:
    found = torch_variables(Layout([0, 2], [2, 3]), index=1, local=2)
    assert found == {
        "RANK": "4", "WORLD_SIZE": "5", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "3", "NODE_RANK": "1", "GROUP_RANK": "1",
    }  # fmt: skip
    assert set(found) == TORCH


def test_a_batch_script_has_the_job_and_no_step() -> None:
    layout = Layout([0, 1, 2], [2, 2, 2])
    env = {
        **job_variables(
            task_id=41, name="mae", user="ann", addresses=ADDRESSES, rank=0, gpus=8, cpus=64, devices="0",
            submit_dir="/work", partition="a100", restarts="0",
        ),
        **step_variables(layout, ADDRESSES, index=0, local=0, step="0"),
        **torch_variables(layout, index=0, local=0),
        "PATH": "/bin",
    }  # fmt: skip
    found = without_step(env)
    assert (found["PATH"], found["SLURM_JOB_ID"], found["SLURM_JOB_NODELIST"]) == (
        "/bin",
        "41",
        "10.0.0.1,10.0.0.2,10.0.0.3",
    )
    assert found["SLURM_TASKS_PER_NODE"] == "2(x3)", "Slurm gives it to a batch script too"
    assert not [name for name in found if name.startswith("SLURM_STEP") or name in TORCH]
    assert not {"SLURM_NTASKS", "SLURM_GTIDS", "SLURM_NTASKS_PER_NODE", "SLURM_NPROCS"} & set(found)


def test_ranks_on_one_machine_have_different_addresses() -> None:
    found = loopbacks(600)
    assert found[:2] == ["127.0.0.1", "127.0.0.2"]
    assert found[253:255] == ["127.0.0.254", "127.0.1.1"]
    assert len(set(found)) == 600
    assert not [one for one in found if one.endswith((".0", ".255"))]
    assert loopbacks(0) == []


@pytest.mark.parametrize(
    ("allowed", "count", "found"),
    [({1, 3}, 8, 2), (AttributeError(), 8, 8), (OSError(), 8, 8), (OSError(), None, 1), (set(), 8, 1)],
    ids=["some", "no such call", "refused", "nothing known", "none"],
)
def test_processors_that_may_be_used(
    monkeypatch: pytest.MonkeyPatch, allowed: set[int] | Exception, count: int | None, found: int
) -> None:
    def affinity(pid: int) -> set[int]:
        if isinstance(allowed, Exception):
            raise allowed
        return allowed

    monkeypatch.setattr(variables.os, "sched_getaffinity", affinity)
    monkeypatch.setattr(variables.os, "cpu_count", lambda: count)
    assert cpus_here() == found
