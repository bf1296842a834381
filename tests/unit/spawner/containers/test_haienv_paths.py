"""Where a server finds environments, and Jupyter their kernels."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from traitlets import TraitError

from hai_spawner.containers.haienv_paths import haienv_variables, make_own_folder
from hai_spawner.containers.local import HaiLocalSpawner
from haienv.store import kernels
from haienv.store.layout import folder_of, root_of
from haienv.store.people import caller_of
from haienv.store.registry import Registry
from unit.spawner.spawn_kit import a_hub, a_user


@pytest.mark.parametrize("user", ["ann", "A.b-c_1", "an:n", "../ann", "ann@site", ".ann"])
def test_kernels_are_looked_for_where_haienv_has_them(user: str) -> None:
    found = haienv_variables("/envs", user, ["nlp", "cv", "a:b", "..", ""])
    registry = Registry(root_of(found), caller_of(found))
    assert found["HAIENV_GROUPS"] == "cv,nlp"
    expected = [str(kernels.jupyter_folder(folder_of(registry.root, owner))) for owner in registry.owners()]
    odd = [] if user in ("ann", "A.b-c_1") else expected[:1]
    assert found["JUPYTER_PATH"].split(":") == [path for path in expected if path not in odd]
    assert all(path.startswith("/envs/") for path in found["JUPYTER_PATH"].split(":"))


def spawner(**more: Any) -> HaiLocalSpawner:
    made = HaiLocalSpawner(home_root="/nowhere", **more)
    made.user, made.hub, made.api_token = a_user("ann", groups=("cv",)), a_hub(), "secret"
    return made


def test_a_server_is_told_and_an_administrators_folders_come_first() -> None:
    env = spawner(haienv_root="/envs", environment={"JUPYTER_PATH": "/opt/kernels", "HAIENV_GROUPS": ""}).get_env()
    assert env["HAIENV_ROOT"] == "/envs"
    assert env["HAIENV_USER"] == "ann"
    assert env["HAIENV_GROUPS"] == "", "what is configured wins"
    folders = env["JUPYTER_PATH"].split(":")
    assert folders == ["/opt/kernels", "/envs/users/ann/.jupyter", "/envs/groups/cv/.jupyter", "/envs/base/.jupyter"]
    assert not {"HAIENV_ROOT", "JUPYTER_PATH"} & spawner().get_env().keys()


@pytest.mark.parametrize("root", ["envs", "/a:b"])
def test_a_root_that_cannot_be_is_refused(root: str) -> None:
    with pytest.raises(TraitError, match="haienv_root is"):
        spawner(haienv_root=root)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_users_own_folder_is_the_accounts_and_what_is_there_stays(tmp_path: Path, mask: int) -> None:
    account: Any = SimpleNamespace(uid=os.getuid(), gid=os.getgid())
    root = tmp_path / "envs"
    before = os.umask(mask)
    try:
        make_own_folder(str(root), "ann", account)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (root, root / "users", root / "users/ann")} == {0o755}
    (root / "users/ann/vision").mkdir()
    (root / "users/bob").symlink_to(tmp_path)
    for user in ("ann", "bob", "../x"):
        make_own_folder(str(root), user, account)
    assert sorted(path.name for path in (root / "users").iterdir()) == ["ann", "bob"]
    assert (root / "users/ann/vision").is_dir()
