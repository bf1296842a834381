"""A folder that is not ours is refused and stays as it was."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_hub.shared import ownership
from hai_hub.shared.errors import UpError
from hai_hub.shared.state import StateDir
from hai_hub.up import command as up


def picture(folder: Path) -> list[tuple[str, int, float]]:
    """Names, modes and times of change of everything in a folder, and of itself."""
    return sorted((str(path), path.lstat().st_mode, path.lstat().st_mtime) for path in [folder, *folder.rglob("*")])


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield int(taken.getsockname()[1])


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `hai up` says of a folder, which it leaves as it was."""
    before = picture(folder)
    assert up.command(["--state-dir", str(folder), "--port", "1"]) == 2
    assert picture(folder) == before
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(folder) in said
    return said


def test_a_folder_with_other_things_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").write_text("")
    said = refused(tmp_path, capsys)
    assert "thesis.tex" in said
    assert "--state-dir" in said


def test_a_folder_to_which_all_accounts_may_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o1777)
    assert "everybody may write there (mode 1777)" in refused(tmp_path, capsys)


def test_tmp_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UpError, match="--state-dir /tmp: "):
        ownership.require_usable(Path("/tmp"))


@pytest.mark.parametrize("ours", [False, True])
def test_a_link_names_the_folder_that_is_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str], ours: bool) -> None:
    meant = tmp_path / "meant"
    meant.mkdir(mode=0o755)
    if ours:
        (meant / "state.json").write_text(json.dumps({"format": 1, "hub_port": 2}))
    (tmp_path / "link").symlink_to(meant)
    before = picture(meant)
    said = refused(tmp_path / "link", capsys)
    assert f"is a link to {meant}; name that folder itself" in said
    assert picture(meant) == before


def test_a_folder_of_another_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(UpError, match=r"belongs to another account \(user id \d+, you are \d+\)"):
        ownership.require_usable(tmp_path)


@pytest.mark.parametrize("there", [False, True])
def test_a_start_whose_port_is_in_use_makes_and_changes_nothing(
    tmp_path: Path, taken_port: int, capsys: pytest.CaptureFixture[str], there: bool
) -> None:
    folder = tmp_path / "state"
    if there:
        folder.mkdir(mode=0o755)
    before = picture(tmp_path)
    assert up.command(["--state-dir", str(folder), "--port", str(taken_port)]) == 2
    assert picture(tmp_path) == before
    assert str(taken_port) in capsys.readouterr().err


@pytest.mark.parametrize(
    "names",
    [("state.json",), ("hai.sqlite", "runs"), ("lock", "home", "hub", "logs", "secrets"), ("service_secret", "x")],
)
def test_folders_of_earlier_versions_and_of_starts_that_failed_are_known(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        if name == "state.json":
            (tmp_path / name).write_text(json.dumps({"format": 1, "user": "ann", "hub_port": 2}))
        elif name in ("home", "hub", "logs", "runs", "secrets"):
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).touch()
    assert ownership.require_usable(tmp_path)
    state = StateDir(tmp_path)
    state.lock()
    state.unlock()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_state_file_of_something_else_is_no_mark(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"format": 1, "window": "large"}))
    with pytest.raises(UpError, match="holds other things"):
        StateDir(tmp_path)


def test_new_and_empty_folders_may_become_state_folders(tmp_path: Path) -> None:
    assert not ownership.require_usable(tmp_path)
    assert not ownership.require_usable(tmp_path / "new")
