"""What the containers of a user see of the folder of environments, where each is shown its own ones alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_scheduler.adapters.environments import visible
from hai_scheduler.adapters.environments.folder import HaienvFolder
from kit.builders import a_pin
from kit.haienv_folders import publish


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "envs"
    for folder in ("base/.python", "groups/cv", "groups/nlp", "users/ann", "users/bob/.python", "users/bob/sight"):
        (made / folder).mkdir(parents=True)
    for name in ("users/bob/other", "references/service", "references/users/ann", "users/eve/secret"):
        (made / name).mkdir(parents=True)
    (made / "config.toml").touch()
    return made


def seen(root: Path, user: str = "ann", groups: tuple[str, ...] = ("cv",), *more: str) -> list[str]:
    return list(visible.of_user(str(root), user, groups, more))


def test_a_user_sees_the_settings_and_base_and_own_and_groups_alone(root: Path) -> None:
    assert seen(root) == ["base", "config.toml", "groups/cv", "users/ann"]
    assert seen(root, "eve", ()) == ["base", "config.toml", "users/eve"]


def test_what_is_not_there_is_not_shown(root: Path) -> None:
    (root / "config.toml").unlink()
    assert seen(root, "new", ("ml", "cv")) == ["base", "groups/cv"]


@pytest.mark.parametrize("name", ["../bob", "a/b", "..", "", "a:b", "/etc"])
def test_odd_names_have_no_folders(root: Path, name: str) -> None:
    assert seen(root, name, (name,)) == ["base", "config.toml"]


def test_one_environment_of_another_is_shown_with_the_pythons_of_its_owner_and_nothing_else_of_theirs(
    root: Path,
) -> None:
    assert seen(root, "ann", (), "users/bob/sight@3", "users/ann/vision", "base/x") == [
        "base", "config.toml", "users/ann", "users/bob/.python", "users/bob/sight",
    ]  # fmt: skip
    assert seen(root, "ann", (), "groups/nlp/x", "bad//name", "sight") == ["base", "config.toml", "users/ann"]


def test_a_link_is_not_shown_as_the_cluster_would_follow_it_on_the_node(root: Path) -> None:
    (root / "users/ann/link").symlink_to(root / "users/eve/secret")
    (root / "users/mallory").symlink_to(root / "users/eve")
    assert seen(root, "mallory", (), "users/ann/link", "users/mallory/secret") == ["base", "config.toml"]


async def test_others_are_shown_what_is_shared_with_all(tmp_path: Path) -> None:
    root = tmp_path / "envs"
    publish(root, a_pin("users/bob/open"))
    publish(root, a_pin("users/bob/closed"))
    publish(root, a_pin("users/ann/own"))
    (root / "users/bob/open").chmod(0o755)
    (root / "users/bob/closed").chmod(0o700)
    folder = HaienvFolder(root, apart=True)
    assert await folder.seen("ann", [], shared=True) == ("users/ann", "users/bob/open")
    assert await folder.seen("ann", []) == ("users/ann",)
    assert await HaienvFolder(root).seen("ann", []) is None, "all of it"
