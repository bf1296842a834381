"""Kernels of environments, as Jupyter finds them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.provisioning import KernelProvisionerFactory

from haienv.store import kernels
from haienv.store.generations import publish
from haienv.store.layout import EnvFolder, Generation, folder_of
from haienv.store.names import EnvName, Owner

MINE, GROUP, BASE = Owner("users", "ann"), Owner("groups", "cv"), Owner("base")


def made(root: Path, owner: Owner, name: str, number: int = 1, **variables: str) -> EnvFolder:
    """An environment with a generation that has a kernel, and is current."""
    env = EnvFolder(root, EnvName(owner, name))
    generation = env.generation(number)
    generation.folder.mkdir(parents=True)
    kernels.write(generation, env.name, variables, "3.11.7")
    publish(env, generation)
    return env


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelSpecManager:
    """Jupyter's own manager with the path that ann's server has."""
    path = [str(kernels.jupyter_folder(folder_of(tmp_path, owner))) for owner in (MINE, GROUP, BASE)]
    monkeypatch.setenv("JUPYTER_PATH", ":".join(path))
    return KernelSpecManager(ensure_native_kernel=False)


def offered(specs: KernelSpecManager) -> dict[str, str]:
    found = {name: spec for name, spec in specs.get_all_specs().items() if name.startswith("haienv")}
    return {name: spec["spec"]["display_name"] for name, spec in found.items()}


def test_own_group_and_base_environments_are_told_apart(tmp_path: Path, specs: KernelSpecManager) -> None:
    for owner in (MINE, GROUP, BASE):
        made(tmp_path, owner, "vision")
    made(tmp_path, Owner("users", "bob"), "secret")
    assert offered(specs) == {
        "haienv-users-ann-vision": "vision (mine) 3.11",
        "haienv-groups-cv-vision": "vision (group cv) 3.11",
        "haienv-base-vision": "vision (base) 3.11",
    }
    logos = {Path(specs.get_kernel_spec(name).resource_dir, kernels.LOGO).read_text() for name in offered(specs)}
    assert len(logos) == 3


def test_a_new_generation_is_offered_at_once_and_a_removed_environment_no_longer(
    tmp_path: Path, specs: KernelSpecManager
) -> None:
    env = made(tmp_path, MINE, "vision")
    assert specs.get_kernel_spec(env.name.kernel).metadata["haienv"] == {
        "environment": "users/ann/vision", "generation": 1, "prefix": str(env.generation(1).prefix)
    }  # fmt: skip
    made(tmp_path, MINE, "vision", 2)
    assert specs.get_kernel_spec(env.name.kernel).metadata["haienv"]["generation"] == 2
    kernels.withdraw(env)
    kernels.withdraw(env)
    assert offered(specs) == {}


def test_an_environment_without_a_kernel_is_not_offered(tmp_path: Path, specs: KernelSpecManager) -> None:
    env = made(tmp_path, MINE, "vision")
    bare = Generation(env.generations_folder / "2", 2)
    bare.folder.mkdir()
    publish(env, bare)
    assert offered(specs) == {}
    publish(env, env.generation(1))
    assert offered(specs) == {env.name.kernel: "vision (mine) 3.11"}


def test_an_environment_may_be_called_as_jupyters_folders(tmp_path: Path, specs: KernelSpecManager) -> None:
    for name in ("share", "jupyter", "kernels"):
        made(tmp_path, MINE, name)
    assert len(offered(specs)) == 3


def test_nothing_is_executed_to_list_two_hundred_kernels(tmp_path: Path, specs: KernelSpecManager) -> None:
    for number in range(200):
        made(tmp_path, BASE, f"e{number}")
    started: list[str] = []
    watching = True

    def watch(event: str, _arguments: object) -> None:
        if watching and event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec"):
            started.append(event)

    sys.addaudithook(watch)
    began = time.process_time()
    assert len(offered(specs)) == 200
    took = time.process_time() - began
    watching = False
    assert started == []
    assert took < 2.0, "reading 200 small files"


async def test_a_kernel_has_the_path_and_the_variables_of_its_environment(
    tmp_path: Path, specs: KernelSpecManager
) -> None:
    env = made(tmp_path, MINE, "vision", DATA="$HOME/data", PATH="/nowhere")
    spec = specs.get_kernel_spec(env.name.kernel)
    provisioner = KernelProvisionerFactory.instance().create_provisioner_instance("1", spec, None)
    started = await provisioner.pre_launch(env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "/server", "HOME": "/home/ann"})
    prefix = env.generation(1).prefix
    assert started["env"]["PATH"] == f"{prefix}/bin:/usr/bin:/bin"
    assert started["env"]["VIRTUAL_ENV"] == str(prefix)
    assert started["env"]["PYTHONPATH"] == ""
    assert started["env"]["HAIENV"] == "users/ann/vision@1"
    assert started["env"]["DATA"] == "$HOME/data", "a variable's value is used as it is"
    assert (
        json.loads((env.generation(1).folder / "kernel/kernel.json").read_text())["argv"][0] == f"{prefix}/bin/python"
    )
