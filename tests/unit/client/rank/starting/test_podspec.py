"""From a pod's Secret and environment to what its command sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hai_client.rank.starting.podspec import PodSpec, archive
from hai_client.rank.starting.spec import BadSpec

SPEC: dict[str, Any] = {
    "schema": 1,
    "run_id": "41.2",
    "task_id": 41,
    "user": "alice",
    "nodes": ["n-a", "n-b"],
    "command": ["true"],
    "cwd": "/",
    "env": {"HAI_TASK_ID": "41", "COLOUR": "task", "HAI_RANK": "9"},
    "profile": "sigterm",
    "api_url": "http://hub/services/hai/api/v1",
    "master_port": 29500,
}
POD = {"HAI_RANK": "1", "HAI_POD_IP": "10.0.0.2", "HAI_GPUS": "4", "HAI_TERMINATION_GRACE": "135"}


def pod(tmp_path: Path, environ: dict[str, str], **changes: Any) -> PodSpec:
    spec = {name: value for name, value in {**SPEC, **changes}.items() if value is not ...}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    (tmp_path / "token").write_text("run:41.2:abc\n")
    return PodSpec(str(tmp_path), "/hai/run", {**POD, **environ})


def seen(tmp_path: Path, environ: dict[str, str] | None = None, **changes: Any) -> dict[str, str]:
    return pod(tmp_path, environ or {}, **changes).environment(["10.0.0.1", "10.0.0.2"])


def test_the_images_variables_give_way_to_the_tasks_and_those_to_the_platforms(tmp_path: Path) -> None:
    env = seen(tmp_path, {"COLOUR": "image", "SHAPE": "image", "RANK": "7"})
    assert (env["COLOUR"], env["SHAPE"], env["HAI_RANK"], env["RANK"]) == ("task", "image", "1", "1")


def test_the_pods_own_variables_stay_in_the_pod(tmp_path: Path) -> None:
    env = seen(tmp_path, {"HAI_LOG_DIR": "/hai/log", "JUPYTERHUB_API_TOKEN": "secret"})
    assert {name for name in env if name.startswith(("HAI_", "JUPYTERHUB_"))} == {
        "HAI_API_URL", "HAI_NODES", "HAI_NODE_ADDRESSES", "HAI_NODE_LIST", "HAI_NODE_NAME", "HAI_RANK", "HAI_RUN",
        "HAI_RUNTIME_DIR", "HAI_RUN_ID", "HAI_TASK_ID", "HAI_TOKEN_FILE",
    }  # fmt: skip
    assert env["HAI_TOKEN_FILE"] == str(tmp_path / "token")


@pytest.mark.parametrize(
    ("container", "task", "gpus", "shown"),
    [
        ({"CUDA_VISIBLE_DEVICES": "GPU-7", "NVIDIA_VISIBLE_DEVICES": "GPU-7"}, {}, "1", ("GPU-7", "GPU-7")),
        ({"NVIDIA_VISIBLE_DEVICES": "GPU-7"}, {"NVIDIA_VISIBLE_DEVICES": "all"}, "1", (None, "GPU-7")),
        ({}, {}, "1", (None, None)),
        ({}, {"CUDA_VISIBLE_DEVICES": "1"}, "2", ("1", None)),
        ({}, {"CUDA_VISIBLE_DEVICES": "0"}, "0", ("", "void")),
    ],
    ids=["as the device plugin says", "a task cannot see more", "nothing says", "a task may see less", "none"],
)
def test_devices_are_what_the_container_has(tmp_path: Path, container, task, gpus, shown) -> None:
    env = seen(tmp_path, {**container, "HAI_GPUS": gpus}, env=task)
    assert (env.get("CUDA_VISIBLE_DEVICES"), env.get("NVIDIA_VISIBLE_DEVICES")) == shown
    assert env["PET_NPROC_PER_NODE"] == str(max(1, int(gpus)))


def test_the_environments_python_comes_first_and_the_client_last(tmp_path: Path) -> None:
    env = seen(tmp_path, {"PATH": "/image/bin", "PYTHONPATH": "/image/lib"}, path_prefix=["/envs/a/bin"])
    assert (env["PATH"], env["PYTHONPATH"]) == ("/envs/a/bin:/image/bin", f"/image/lib:{archive()}")
    env = seen(tmp_path, {"PATH": "/image/bin"}, env={"PATH": "/own"}, profile="slurm")
    assert env["PATH"] == "/hai/run/shims:/own"
    assert env["PYTHONPATH"] == archive()
    assert (Path(archive()) / "hai_client").is_dir()


def test_the_users_own_python_comes_before_all_others(tmp_path: Path) -> None:
    image = {"PATH": "/image/bin"}
    env = seen(tmp_path, image, path_prefix=["/envs/a/bin"], env={"HAI_VENV": "/home/ann/torch"})
    assert (env["PATH"], env["VIRTUAL_ENV"]) == ("/home/ann/torch/bin:/envs/a/bin:/image/bin", "/home/ann/torch")
    conda = {"HAI_VENV": "/conda/torch", "CONDA_PREFIX": "/conda/torch"}
    env = seen(tmp_path, image, env=conda, profile="slurm")
    assert env["PATH"] == "/hai/run/shims:/conda/torch/bin:/image/bin"
    assert "VIRTUAL_ENV" not in env


@pytest.mark.parametrize("value", ["", "torch", "../torch"])
def test_what_is_no_absolute_folder_is_no_python(tmp_path: Path, value: str) -> None:
    env = seen(tmp_path, {"PATH": "/image/bin"}, env={"HAI_VENV": value})
    assert (env["PATH"], "VIRTUAL_ENV" in env) == ("/image/bin", False)


def test_a_home_is_the_containers_the_tasks_or_one_that_every_image_has(tmp_path: Path) -> None:
    assert seen(tmp_path, {"HOME": "/root"})["HOME"] == "/root"
    assert seen(tmp_path, {"HOME": "/root"}, env={"HOME": "/home/alice"})["HOME"] == "/home/alice"
    assert seen(tmp_path)["HOME"] == "/tmp"


def test_the_log_is_sent_unless_there_is_a_folder_for_it(tmp_path: Path) -> None:
    assert pod(tmp_path, {}).upload_log
    assert not pod(tmp_path, {}, upload_log=False).upload_log
    shared = pod(tmp_path, {"HAI_LOG_DIR": "/hai/log"}, upload_log=True)
    assert (shared.upload_log, shared.spec.log_dir, shared.spec.log_mode) == (False, "/hai/log", 0o644)


@pytest.mark.parametrize("field", ["run_id", "task_id", "nodes", "command", "env", "master_port", "api_url"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    with pytest.raises(BadSpec, match=f"field {field} is missing"):
        pod(tmp_path, {}, **{field: ...})


@pytest.mark.parametrize("name", ["HAI_RANK", "HAI_GPUS", "HAI_TERMINATION_GRACE"])
def test_a_bad_variable_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadSpec, match=f"variable {name} is 'many'; it must be a whole number"):
        pod(tmp_path, {name: "many"})


def test_the_proxy_of_a_task_is_the_one_in_both_cases(tmp_path: Path) -> None:
    cluster = {"HTTPS_PROXY": "http://all", "https_proxy": "http://all", "NO_PROXY": ".svc", "no_proxy": ".svc"}
    env = seen(tmp_path, cluster, env={"HTTPS_PROXY": "http://mine"})
    assert (env["HTTPS_PROXY"], env["https_proxy"]) == ("http://mine", "http://mine")
    assert env["no_proxy"] == env["NO_PROXY"] == ".svc,localhost,127.0.0.1,hub,10.0.0.1,10.0.0.2"
    env = seen(tmp_path, cluster, env={"no_proxy": "data"})
    assert env["NO_PROXY"] == "data,localhost,127.0.0.1,hub,10.0.0.1,10.0.0.2"
