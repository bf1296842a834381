"""A folder whose rights its owner has lost is opened again, and links are left alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hai_scheduler.adapters.local import rights
from hai_scheduler.adapters.local.rights import give_back, with_rights


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def refusing(times: int, done: list[str]) -> Callable[[], str]:
    """Work that lacks a right this many times, as it does for a user who is not root."""

    def work() -> str:
        done.append("tried")
        if len(done) <= times:
            raise PermissionError(13, "Permission denied")
        return "result"

    return work


def test_work_that_lacks_no_right_changes_none(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert with_rights(tmp_path, refusing(0, [])) == "result"
    assert mode(tmp_path) == 0o500


def test_rights_are_given_back_and_the_work_is_done_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = tmp_path / "1" / "1.1" / "0"
    run.mkdir(parents=True)
    (run / "status.json").touch()
    (run / "status.json").chmod(0o044)
    run.chmod(0o000)
    done: list[str] = []
    assert with_rights(run, refusing(1, done)) == "result"
    assert (len(done), mode(run), mode(run / "status.json")) == (2, 0o700, 0o644)
    assert "the rights of its owner have been restored" in caplog.text


@pytest.mark.parametrize("lost", [False, True], ids=["nothing to give back", "given back in vain"])
def test_work_that_still_fails_raises(tmp_path: Path, lost: bool) -> None:
    tmp_path.chmod(0o400 if lost else 0o700)
    done: list[str] = []
    with pytest.raises(PermissionError):
        with_rights(tmp_path, refusing(9, done))
    assert len(done) == (2 if lost else 1), "only after a change it is tried again"


def test_another_error_is_not_about_rights(tmp_path: Path) -> None:
    def work() -> None:
        raise FileNotFoundError

    tmp_path.chmod(0o400)
    with pytest.raises(FileNotFoundError):
        with_rights(tmp_path, work)
    assert mode(tmp_path) == 0o400


def test_all_in_a_folder_gets_the_rights_of_its_owner_and_keeps_those_of_others(tmp_path: Path) -> None:
    inner = tmp_path / "run" / "rank"
    inner.mkdir(parents=True)
    (inner / "log").touch()
    (inner / "log").chmod(0o240)
    inner.chmod(0o055)
    (tmp_path / "run").chmod(0o500)
    assert give_back(tmp_path / "run")
    assert (mode(tmp_path / "run"), mode(inner), mode(inner / "log")) == (0o700, 0o755, 0o640)
    assert not give_back(tmp_path / "run"), "the second time nothing is missing"


def test_what_a_link_names_is_not_touched(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (outside / "file").chmod(0o000)
    run = tmp_path / "run"
    run.mkdir()
    (run / "folder").symlink_to(outside)
    (run / "file").symlink_to(outside / "file")
    (run / "gone").symlink_to(tmp_path / "missing")
    os.mkfifo(run / "pipe", 0o000)
    assert not give_back(run)
    assert (mode(outside / "file"), mode(run / "pipe")) == (0o000, 0o000)


def test_only_the_depth_of_the_platforms_own_folders_is_walked(tmp_path: Path) -> None:
    deepest = tmp_path.joinpath(*[str(level) for level in range(rights._DEPTH + 1)])
    deepest.mkdir(parents=True)
    deepest.chmod(0o000)
    assert not give_back(tmp_path)
    deepest.parent.chmod(0o500)
    assert give_back(tmp_path)
    assert mode(deepest) == 0o000
    deepest.chmod(0o700)


def test_what_is_not_there_lacks_no_right(tmp_path: Path) -> None:
    assert not give_back(tmp_path / "missing")
