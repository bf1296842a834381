"""One node's part of a step: numbers, variables and names of files of its tasks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hai_client.launching.layout import Layout
from hai_client.launching.part import StepPart

ENV = {"HAI_TASK_ID": "41", "HAI_TASK_NAME": "digits", "HAI_USER": "alice", "CUDA_VISIBLE_DEVICES": "0,1,2,3"}
ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def a_part(**fields: Any) -> StepPart:
    """The second node of a step of 2 + 3 tasks on the nodes 1 and 2 of three."""
    values: dict[str, Any] = {
        "command": ["python", "train.py"],
        "layout": Layout([1, 2], [2, 3]),
        "index": 1,
        "addresses": ADDRESSES,
        "step": "0",
        "env": ENV,
    }
    return StepPart(**{**values, **fields})


def test_tasks_are_numbered_over_all_nodes_of_the_step() -> None:
    part = a_part()
    assert (part.tasks, [part.number(local) for local in range(part.tasks)]) == (3, [2, 3, 4])
    env = part.environment(1)
    assert (env["RANK"], env["LOCAL_RANK"], env["WORLD_SIZE"]) == ("3", "1", "5")
    assert (env["SLURM_PROCID"], env["SLURM_LOCALID"], env["SLURM_STEP_ID"]) == ("3", "1", "0")


def test_the_variables_of_slurm_and_the_rank_on_the_node_can_be_left_out() -> None:
    env = a_part(slurm=False, local_rank=False).environment(0)
    assert [name for name in env if name.startswith("SLURM")] == []
    assert ("LOCAL_RANK" in env, env["RANK"]) == (False, "2")
    assert "LOCAL_RANK" not in a_part(command=["torchrun", "train.py"]).environment(0), "it starts the workers itself"


@pytest.mark.parametrize(
    ("given", "master"),
    [({}, "10.0.0.2"), ({"MASTER_ADDR": "10.0.0.1"}, "10.0.0.2"), ({"MASTER_ADDR": "10.9.9.9"}, "10.9.9.9")],
    ids=["none", "the job's first node", "the script's own"],
)
def test_the_master_is_the_first_node_of_the_step_unless_the_script_has_chosen_one(
    given: dict[str, str], master: str
) -> None:
    assert a_part(env={**ENV, **given}).environment(0)["MASTER_ADDR"] == master


@pytest.mark.parametrize(
    ("each", "devices"),
    [(None, ["0,1,2,3"] * 3), (1, ["0", "1", "2"]), (2, ["0,1", "2,3", ""])],
)
def test_gpus_are_divided_among_the_tasks_of_the_node(each: int | None, devices: list[str]) -> None:
    part = a_part(gpus_per_task=each)
    assert [part.environment(local)["CUDA_VISIBLE_DEVICES"] for local in range(3)] == devices
    plain = a_part(gpus_per_task=each, env={"HAI_TASK_ID": "41"})
    assert "CUDA_VISIBLE_DEVICES" not in plain.environment(0), "a node without GPUs"


def test_only_the_first_task_goes_on_with_the_tasks_run_of_weights_and_biases() -> None:
    named = {**ENV, "WANDB_RUN_ID": "hai-41"}
    first = a_part(env=named, index=0)
    assert first.environment(0)["WANDB_RUN_ID"] == "hai-41"
    assert "WANDB_RUN_ID" not in first.environment(1)
    own = a_part(env={**ENV, "WANDB_RUN_ID": "mine"})
    assert own.environment(2)["WANDB_RUN_ID"] == "mine"


def test_the_letters_of_patterns_for_files() -> None:
    facts = a_part().facts(2)
    assert facts == {
        "j": "41", "A": "41", "a": "0", "J": "41.0", "s": "0", "x": "digits", "u": "alice", "N": "10.0.0.3", "n": "1",
        "t": "4",
    }  # fmt: skip
    slurm = a_part(env={**ENV, "SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "sweep"}).facts(0)
    assert (slurm["j"], slurm["J"], slurm["x"]) == ("7", "7.0", "sweep")


@pytest.mark.parametrize(
    "fields",
    [{}, {"label": True, "gpus_per_task": 2, "output": "out-%t", "append": True, "cwd": "/work", "slurm": False}],
)
def test_a_part_survives_the_way_over_json(fields: dict[str, Any]) -> None:
    part = a_part(**fields)
    again = StepPart.of(json.loads(json.dumps(part.data())))
    assert again.data() == part.data()
    assert [again.environment(local) for local in range(3)] == [part.environment(local) for local in range(3)]


@pytest.mark.parametrize(
    "change", [{"nodes": [1]}, {"counts": []}, {"colour": "red"}], ids=lambda change: next(iter(change))
)
def test_what_is_no_part_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        StepPart.of({**a_part().data(), **change})
