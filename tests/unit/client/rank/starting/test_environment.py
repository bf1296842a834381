"""The variables of a rank: what wins over what, and what never reaches a task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hai_client.rank.starting import environment
from hai_client.rank.starting.environment import SYSTEM_PATH, RankContext, Run, rank_environment


def variables(given: dict[str, str] | None = None, *, rank: int = 0, gpus: int = 2, **changes: Any) -> dict[str, str]:
    """The variables of a rank of a run on two nodes."""
    run = Run(
        **{
            "run_id": "41.2", "task_id": 41, "user": "ann", "nodes": ["n-1", "n-2"], "profile": "auto",
            "api_url": "http://hub/api", "addresses": ["10.0.0.1", "10.0.0.2"], "master_port": 3000, "cwd": "/work",
            **changes,
        }
    )  # fmt: skip
    context = RankContext(rank=rank, node=run.nodes[rank], gpus=gpus, runtime_dir="/run/r", token_file="/run/t")
    return rank_environment(given or {}, run, context, home="/home/ann", path_first=["/hai"], slurm="/shims")


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "cpus_here", lambda: 8)


def test_a_rank_knows_its_place_in_the_gang() -> None:
    env = variables(rank=1)
    assert {name: env[name] for name in ("HAI_TASK_ID", "HAI_RUN_ID", "HAI_RUN", "HAI_RANK", "HAI_NODES")} == {
        "HAI_TASK_ID": "41", "HAI_RUN_ID": "41.2", "HAI_RUN": "2", "HAI_RANK": "1", "HAI_NODES": "2",
    }  # fmt: skip
    assert (env["HAI_NODE_LIST"], env["HAI_NODE_ADDRESSES"]) == ("n-1,n-2", "10.0.0.1,10.0.0.2")
    assert (env["HAI_NODE_NAME"], env["HAI_RUNTIME_DIR"], env["HAI_TOKEN_FILE"]) == ("n-2", "/run/r", "/run/t")


@pytest.mark.parametrize(("rank", "gpus", "each"), [(0, 8, "8"), (1, 8, "8"), (1, 0, "1")])
def test_torch_finds_its_master_and_its_ranks(rank: int, gpus: int, each: str) -> None:
    env = variables(rank=rank, gpus=gpus)
    assert {env[name] for name in ("MASTER_ADDR", "MASTER_IP", "PET_MASTER_ADDR")} == {"10.0.0.1"}
    assert {env[name] for name in ("MASTER_PORT", "PET_MASTER_PORT")} == {"3000"}
    assert {env[name] for name in ("RANK", "NODE_RANK", "PET_NODE_RANK")} == {str(rank)}
    assert {env[name] for name in ("WORLD_SIZE", "PET_NNODES")} == {"2"}
    assert env["PET_NPROC_PER_NODE"] == each


ALONE: dict[str, Any] = {"nodes": ["n-1"], "addresses": ["10.0.0.1"]}


@pytest.mark.parametrize(
    ("changes", "there"),
    [(ALONE, False), ({**ALONE, "ranks_per_node": 1}, True), ({**ALONE, "ranks_per_node": 2}, True), ({}, True)],
    ids=["one process", "one that is counted", "two on a node", "two nodes"],
)
@pytest.mark.parametrize("profile", ["auto", "slurm"])
def test_one_process_alone_is_not_taken_for_one_of_a_launcher(
    changes: dict[str, Any], profile: str, *, there: bool
) -> None:
    env = variables(profile=profile, **changes)
    assert [name in env for name in ("RANK", "WORLD_SIZE")] == [there, there]
    assert env["HAI_RANK"] == "0"
    assert "LOCAL_RANK" not in env
    assert "RANK" not in variables({"RANK": "3"}, **ALONE)
    assert variables({"WORLD_SIZE": "4"}, **ALONE)["WORLD_SIZE"] == "4"


@pytest.mark.parametrize(
    "name", ["WORLD_SIZE", "HOME", "USER", "LANG", "PYTHONUNBUFFERED", "HAI_API_URL", "PET_NNODES"]
)
def test_a_user_may_change_the_defaults(name: str) -> None:
    assert name in variables()
    assert variables({name: "own"})[name] == "own"


@pytest.mark.parametrize(
    "name", ["HAI_RANK", "HAI_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "RANK", "HAI_TOKEN_FILE", "HAI_RUNTIME_DIR"]
)
def test_what_only_the_cluster_knows_wins(name: str) -> None:
    assert variables({name: "forged"})[name] == variables()[name]


def test_variables_of_the_service_and_of_a_jupyter_server_never_reach_a_task() -> None:
    env = variables({"JUPYTERHUB_API_TOKEN": "secret", "CONFIGPROXY_AUTH_TOKEN": "secret", "MY_JUPYTERHUB_URL": "x"})
    assert "secret" not in env.values()
    assert env["MY_JUPYTERHUB_URL"] == "x"


def test_one_run_of_weights_and_biases_for_the_first_rank_of_all_runs() -> None:
    assert (variables()["WANDB_RUN_ID"], variables()["WANDB_RESUME"]) == ("hai-41", "allow")
    assert variables({"WANDB_RUN_ID": "mine"})["WANDB_RUN_ID"] == "mine"
    assert not [name for name in variables(rank=1) if name.startswith("WANDB")]


def test_runs_of_mlflow_carry_the_task_and_a_context_of_ones_own_wins() -> None:
    tags = json.loads(variables({"HAI_TASK_NAME": 'a "b"'})["MLFLOW_RUN_CONTEXT"])
    assert tags == {"hai.task": "41", "hai.name": 'a "b"', "hai.user": "ann"}
    assert variables({"MLFLOW_RUN_CONTEXT": "{}"})["MLFLOW_RUN_CONTEXT"] == "{}"
    assert "MLFLOW_RUN_ID" not in variables(), "a run that its server does not know would end the job"


@pytest.mark.parametrize(
    ("given", "own", "transformers"),
    [
        ({}, None, None),
        ({"HAI_LOG_DIR": "/c/41-logs"}, "/c/41-logs/tensorboard", "/c/41-logs/tensorboard"),
        ({"HAI_LOG_DIR": "/c/41-logs", "HAI_TENSORBOARD_DIR": "/tb"}, "/tb", "/tb"),
        ({"HAI_LOG_DIR": "/c/41-logs", "TENSORBOARD_LOGGING_DIR": "/t"}, "/c/41-logs/tensorboard", "/t"),
    ],
)
def test_tensorboard_has_a_folder_beside_the_checkpoints(
    given: dict[str, str], own: str | None, transformers: str | None
) -> None:
    env = variables(given)
    assert (env.get("HAI_TENSORBOARD_DIR"), env.get("TENSORBOARD_LOGGING_DIR")) == (own, transformers)


@pytest.mark.parametrize(
    ("given", "profile", "path"),
    [
        ({}, "auto", f"/hai:{SYSTEM_PATH}"),
        ({"PATH": ""}, "auto", f"/hai:{SYSTEM_PATH}"),
        ({"PATH": "/own"}, "auto", "/hai:/own"),
        ({"PATH": "/own", "HAI_VENV": "/venv"}, "auto", "/venv/bin:/hai:/own"),
        ({"PATH": "/own", "HAI_VENV": "venv"}, "auto", "/hai:/own"),
        ({"PATH": "/own", "HAI_VENV": "/venv"}, "slurm", "/shims:/venv/bin:/hai:/own"),
    ],
)
def test_the_order_of_the_path(given: dict[str, str], profile: str, path: str) -> None:
    assert variables(given, profile=profile)["PATH"] == path


@pytest.mark.parametrize(
    ("given", "venv"),
    [({"HAI_VENV": "/venv"}, "/venv"), ({"HAI_VENV": "/c", "CONDA_PREFIX": "/c"}, None), ({"HAI_VENV": "x"}, None)],
)
def test_a_venv_is_activated(given: dict[str, str], venv: str | None) -> None:
    assert variables(given).get("VIRTUAL_ENV") == venv


def test_without_the_profile_slurm_nothing_says_slurm() -> None:
    assert not [name for name in variables() if name.startswith(("SLURM", "SUBMITIT"))]


def test_the_profile_slurm_describes_the_job_and_its_first_step() -> None:
    given = {"HAI_TASK_NAME": "mae", "CUDA_VISIBLE_DEVICES": "0,1", "HAI_RESTARTS": "3"}
    env = variables(given, profile="slurm", rank=1, ranks_per_node=4, group="a100")
    assert {name: env[f"SLURM_{name}"] for name in ("JOB_ID", "JOB_NAME", "JOB_PARTITION", "JOB_USER")} == {
        "JOB_ID": "41", "JOB_NAME": "mae", "JOB_PARTITION": "a100", "JOB_USER": "ann",
    }  # fmt: skip
    assert (env["SLURM_NODEID"], env["SLURM_PROCID"], env["SLURM_NTASKS"]) == ("1", "4", "8")
    assert (env["SLURM_JOB_GPUS"], env["SLURM_GPUS_ON_NODE"], env["SLURM_CPUS_ON_NODE"]) == ("0,1", "2", "8")
    assert (env["SLURM_RESTART_COUNT"], env["SLURM_SUBMIT_DIR"]) == ("3", "/work")
    assert env["SUBMITIT_PREEMPT_SIGNAL"] == "USR1"


def test_a_task_without_a_name_or_devices_has_some_for_slurm() -> None:
    env = variables(profile="slurm")
    assert (env["SLURM_JOB_NAME"], env["SLURM_RESTART_COUNT"], env["SLURM_NTASKS"]) == ("task-41", "0", "2")
    assert "SLURM_JOB_GPUS" not in env
    assert variables({"SUBMITIT_PREEMPT_SIGNAL": "USR2"}, profile="slurm")["SUBMITIT_PREEMPT_SIGNAL"] == "USR2"


def test_the_given_variables_are_left_as_they_are() -> None:
    given = {"A": "1"}
    variables(given, profile="slurm")
    assert given == {"A": "1"}


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy"])
def test_a_proxy_never_sees_the_service_and_the_other_ranks(name: str) -> None:
    env = variables({name: "http://proxy:3128", "NO_PROXY": ".example.org"})
    assert env["NO_PROXY"] == ".example.org,localhost,127.0.0.1,hub,10.0.0.1,10.0.0.2"
    assert env["no_proxy"] == "localhost,127.0.0.1,hub,10.0.0.1,10.0.0.2"


def test_without_a_proxy_nothing_is_said_of_one() -> None:
    assert not {"NO_PROXY", "no_proxy"} & set(variables())
