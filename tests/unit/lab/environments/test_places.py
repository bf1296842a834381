"""Whose environments the user may make and change, and whether anything has changed there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hai_lab.environments import places


def test_what_may_be_changed_is_asked_of_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "groups/cv").mkdir(parents=True)
    environ = {"HAIENV_ROOT": str(tmp_path), "HAIENV_USER": "ann", "HAIENV_GROUPS": "cv,a b"}
    assert places.owners(environ) == ["users/ann", "groups/cv", "base"]
    assert places.owners({"JUPYTERHUB_USER": "ann"}) == ["users/ann"]
    assert places.owners({"JUPYTERHUB_USER": "a@b"}) == []
    assert places.state({"HAIENV_ROOT": "", "JUPYTER_PATH": f"{tmp_path}/base/.jupyter"}) == ()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of environments of haienv."""
    for folder in ("users/ann", "groups/cv", "base"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def environ_of(root: Path, *owners: str) -> dict[str, str]:
    """The variables of a server whose Jupyter lists the kernels of these owners."""
    return {"HAIENV_ROOT": str(root), "JUPYTER_PATH": os.pathsep.join(f"{root}/{owner}/.jupyter" for owner in owners)}


def publish(folder: Path, generation: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "current").unlink(missing_ok=True)
    (folder / "current").symlink_to(f"generations/{generation}")


def test_a_publication_a_rollback_and_a_removal_each_change_the_state(root: Path) -> None:
    environ = environ_of(root, "users/ann", "base")
    seen = [places.state(environ)]
    for generation in (1, 2, 1):
        publish(root / "users/ann/vision", generation)
        seen.append(places.state(environ))
    (root / "users/ann/vision/current").unlink()
    seen.append(places.state(environ))
    vision = str(root / "users/ann/vision")
    assert seen == [
        (),
        ((vision, "generations/1"),),
        ((vision, "generations/2"),),
        ((vision, "generations/1"),),
        (),
    ]


def test_folders_are_looked_at_in_the_order_of_jupyters_path_and_names(root: Path) -> None:
    for name in ("base/torch", "users/ann/b", "users/ann/a"):
        publish(root / name, 1)
    found = [Path(name).relative_to(root) for name, _ in places.state(environ_of(root, "users/ann", "base"))]
    assert [str(name) for name in found] == ["users/ann/a", "users/ann/b", "base/torch"]


def test_what_is_hidden_unpublished_elsewhere_or_no_link_is_left_out(root: Path, tmp_path: Path) -> None:
    publish(root / "base/.building", 1)
    (root / "base/begun").mkdir()
    (root / "base/odd").mkdir()
    (root / "base/odd/current").write_text("generations/1")
    (root / "base/file").write_text("")
    publish(root / "groups/cv/unlisted", 1)
    environ = environ_of(root, "base", "users/none")
    environ["JUPYTER_PATH"] += f"{os.pathsep}{os.pathsep}/usr/share/jupyter"
    assert places.state(environ) == ()


def test_a_folder_with_too_many_entries_is_read_in_part(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MOST", 2)
    for number in range(4):
        publish(root / f"base/e{number}", 1)
    assert len(places.state(environ_of(root, "base"))) == 2


def test_a_folder_that_may_not_be_written_is_not_offered_but_the_users_own_always_is(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"HAIENV_ROOT": str(root), "HAIENV_USER": "ann", "HAIENV_GROUPS": " cv ,nlp,,"}
    asked: list[str] = []

    def access(folder: Path, mode: int) -> bool:
        assert mode == os.W_OK | os.X_OK
        asked.append(str(folder.relative_to(root)))
        return folder.name == "cv"

    monkeypatch.setattr(os, "access", access)
    assert places.owners(environ) == ["users/ann", "groups/cv"]
    assert asked == ["groups/cv", "groups", "base"], "of a folder that is not there, the one above it is asked"


@pytest.mark.parametrize(
    ("environ", "owner"),
    [
        ({"HAIENV_USER": "ann", "JUPYTERHUB_USER": "bob"}, ["users/ann"]),
        ({"JUPYTERHUB_USER": "bob"}, ["users/bob"]),
        ({}, ["users/the-account"]),
        ({"HAIENV_USER": "../root"}, []),
    ],
    ids=["haienv's user", "the hub's user", "the account", "a name that is none"],
)
def test_the_user_is_haienvs_then_the_hubs_then_the_accounts(
    environ: dict[str, str], owner: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "the-account")
    assert places.owners(environ) == owner
