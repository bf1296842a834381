"""Environments that somebody else may have written are refused, by the permissions of folders."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from haienv.shared.errors import Wrong
from haienv.store import trust
from haienv.store.layout import EnvFolder
from haienv.store.names import Owner
from unit.haienv.envs_kit import env_of, publish

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to another account")
SOMEBODY, ANN = 54321, 54322


@pytest.fixture
def env(tmp_path: Path) -> EnvFolder:
    made = env_of(tmp_path / "root")
    publish(made)
    return made


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ann have a Unix account that is not the one of this process."""
    monkeypatch.setattr(trust.pwd, "getpwnam", lambda name: SimpleNamespace(pw_uid=ANN))


@pytest.mark.parametrize("up", [0, 1, 2, 3], ids=["environment", "owner", "level", "root"])
def test_no_folder_on_the_way_may_be_written_by_all(env: EnvFolder, up: int) -> None:
    folder = [env.folder, *env.folder.parents][up]
    trust.check(env)
    folder.chmod(0o777)
    with pytest.raises(Wrong, match=f"is not safe to use: everybody can write {folder}; chmod o-w {folder}$"):
        trust.check(env)


@pytest.mark.parametrize(("up", "allowed"), [(0, False), (1, True), (3, True)])
def test_a_sticky_folder_above_is_as_safe_as_tmp(env: EnvFolder, up: int, *, allowed: bool) -> None:
    [env.folder, *env.folder.parents][up].chmod(0o1777)
    if allowed:
        trust.check(env)
        return
    with pytest.raises(Wrong, match="everybody can write"):
        trust.check(env)


@as_root
@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("up", [0, 1], ids=["environment", "owner"])
@pytest.mark.parametrize(("uid", "allowed"), [(0, True), (ANN, True), (SOMEBODY, False)])
def test_the_environments_of_a_user_belong_to_them_or_to_root(
    env: EnvFolder, up: int, uid: int, *, allowed: bool
) -> None:
    folder = [env.folder, *env.folder.parents][up]
    os.chown(folder, uid, -1)
    if allowed:
        trust.check(env)
        return
    with pytest.raises(Wrong, match=rf"{folder} belongs to the account {SOMEBODY}, and not to ann; an admin should"):
        trust.check(env)


@as_root
@pytest.mark.usefixtures("account")
def test_where_all_is_one_account_it_may_use_what_it_has_written(
    env: EnvFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(env.folder, SOMEBODY, -1)
    monkeypatch.setattr(trust.os, "geteuid", lambda: SOMEBODY)
    trust.check(env)


@as_root
@pytest.mark.usefixtures("account")
def test_the_account_that_wrote_it_is_named(env: EnvFolder) -> None:
    nobody = next(one for one in pwd.getpwall() if one.pw_uid not in (0, ANN))
    os.chown(env.folder, nobody.pw_uid, -1)
    with pytest.raises(Wrong, match=f"belongs to the account {nobody.pw_name},"):
        trust.check(env)


@as_root
def test_a_user_without_an_account_and_groups_have_no_such_rule(env: EnvFolder, tmp_path: Path) -> None:
    os.chown(env.folder, SOMEBODY, -1)
    trust.check(env)
    of_group = env_of(tmp_path / "root", owner=Owner("groups", "cv"))
    publish(of_group)
    os.chown(of_group.folder, SOMEBODY, -1)
    trust.check(of_group)


def test_one_that_may_not_be_read_says_so(env: EnvFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(trust.os, "access", lambda path, mode: False)
        with pytest.raises(Wrong, match=f"no right to read {env.folder}; its owner can share it with you"):
            trust.check(env)

    def stat(folder: Path) -> os.stat_result:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(trust.os, "stat", stat)
        with pytest.raises(Wrong, match=f"no right to read {env.root}; "):
            trust.check(env)
