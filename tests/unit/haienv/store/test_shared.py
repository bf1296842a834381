"""Environments of other users: those that may be used are listed and offered as kernels, the others are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from haienv.store import kernels, shared
from haienv.store.generations import link_current, publish
from haienv.store.layout import EnvFolder
from haienv.store.names import EnvName, Owner
from haienv.store.registry import Caller

BOB = Caller("bob")
KERNEL = "haienv-users-ann-vision"


def made(root: Path, user: str, name: str, mode: int) -> EnvFolder:
    """An environment with a kernel in its only generation."""
    env = EnvFolder(root, EnvName(Owner("users", user), name))
    env.generation(1).folder.mkdir(parents=True)
    kernels.write(env.generation(1), env.name, {}, "3.11.7")
    publish(env, env.generation(1))
    env.folder.chmod(mode)
    return env


def names(found: list[EnvName]) -> list[str]:
    return [str(one) for one in found]


@pytest.fixture
def vision(tmp_path: Path) -> EnvFolder:
    made(tmp_path, "bob", "own", 0o700)
    made(tmp_path, "ann", "private", 0o700)
    made(tmp_path, "ann", "half", 0o744)
    return made(tmp_path, "ann", "vision", 0o755)


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelSpecManager:
    """Jupyter's own manager with the path that bob's server has."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "users" / "bob" / ".jupyter"))
    return KernelSpecManager(ensure_native_kernel=False)


def offered(specs: KernelSpecManager) -> dict[str, str]:
    found = {name: spec for name, spec in specs.get_all_specs().items() if name.startswith("haienv")}
    return {name: spec["spec"]["display_name"] for name, spec in found.items()}


def test_only_what_others_let_everybody_use_is_shared_where_all_are_one_account(
    tmp_path: Path, vision: EnvFolder
) -> None:
    assert names(shared.environments(tmp_path, BOB)) == ["users/ann/vision"]
    assert names(shared.environments(tmp_path, Caller("ann"))) == []
    assert shared.environments(tmp_path / "none", BOB) == []


def test_what_everybody_can_write_is_not_shared(tmp_path: Path, vision: EnvFolder) -> None:
    vision.folder.chmod(0o757)
    assert shared.environments(tmp_path, BOB) == []


def test_the_kernel_of_a_shared_environment_says_whose_it_is(
    tmp_path: Path, vision: EnvFolder, specs: KernelSpecManager
) -> None:
    assert names(shared.offer(tmp_path, BOB)) == ["users/ann/vision"]
    assert offered(specs) == {"haienv-users-bob-own": "own (mine) 3.11", KERNEL: "vision (of ann) 3.11"}
    theirs = json.loads((vision.generation(1).folder / "kernel" / "kernel.json").read_text())
    assert theirs["display_name"] == "vision (mine) 3.11"


def test_it_follows_what_its_owner_publishes_without_a_further_look(
    tmp_path: Path, vision: EnvFolder, specs: KernelSpecManager
) -> None:
    shared.offer(tmp_path, BOB)
    vision.generation(2).folder.mkdir()
    kernels.write(vision.generation(2), vision.name, {}, "3.12.1")
    link_current(vision, 2)
    assert offered(specs)[KERNEL] == "vision (of ann) 3.12"


def test_what_is_no_longer_shared_is_no_longer_offered_and_own_kernels_stay(
    tmp_path: Path, vision: EnvFolder, specs: KernelSpecManager
) -> None:
    shared.offer(tmp_path, BOB)
    vision.folder.chmod(0o700)
    assert shared.offer(tmp_path, BOB) == []
    assert offered(specs) == {"haienv-users-bob-own": "own (mine) 3.11"}
    links = (tmp_path / "users" / "bob" / ".jupyter" / "kernels").iterdir()
    assert [one.name for one in links] == ["haienv-users-bob-own"]


def test_a_look_is_bounded(tmp_path: Path, vision: EnvFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        made(tmp_path, "ann", f"a{number}", 0o755)
    monkeypatch.setattr(shared, "MOST_ENVIRONMENTS", 3)
    assert names(shared.environments(tmp_path, BOB)) == [f"users/ann/a{number}" for number in range(3)]
