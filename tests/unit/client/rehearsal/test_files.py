"""What a rehearsal sees of files: those that are written, and those that are read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from hai_client.rehearsal.files import FolderWatcher


def seen(folder: Path, act: Callable[[Path], None], **more: list[str]) -> FolderWatcher:
    files = FolderWatcher([str(folder)], **{"wide": [], "folders": [], **more})
    try:
        act(folder)
    finally:
        files.close()
    return files


def test_what_is_written_and_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")

    def act(folder: Path) -> None:
        (folder / "new").write_text("x")
        (folder / "old").read_text()
        (folder / "new").rename(folder / "whole")

    files = seen(tmp_path, act)
    assert set(files.written) == {str(tmp_path / "new"), str(tmp_path / "whole")}
    assert set(files.moved) == {str(tmp_path / "whole")}
    assert set(files.read) == {str(tmp_path / "old")}
    assert files.incomplete == ""


def test_folders_that_come_later_are_watched_with_what_is_in_them(tmp_path: Path) -> None:
    def act(folder: Path) -> None:
        draft = folder / ".draft" / "deep"
        draft.mkdir(parents=True)
        (draft / "a").write_text("x")
        (folder / ".draft").rename(folder / "step-1")
        end = time.monotonic() + 60
        while str(folder / "step-1/deep") not in files_now() and time.monotonic() < end:
            time.sleep(0.01)
        (folder / "step-1/deep/b").write_text("x")
        (folder / "step-1/deep/a").read_text()

    made: list[FolderWatcher] = []

    def files_now() -> list[str]:
        return made[0].folders

    files = FolderWatcher([str(tmp_path)], wide=[], folders=[])
    made.append(files)
    try:
        act(tmp_path)
    finally:
        files.close()
    assert {str(tmp_path / "step-1/deep/a"), str(tmp_path / "step-1/deep/b")} <= set(files.written)
    assert str(tmp_path / "step-1/deep/a") in files.moved
    # A run that reads what it has written itself resumes from nothing.
    assert str(tmp_path / "step-1/deep/a") not in files.read


def test_folders_of_programs_and_hidden_ones_of_before_are_left_out(tmp_path: Path) -> None:
    here = tmp_path / "here"
    for name in (".git", "__pycache__", "venv", "runs"):
        (here / name).mkdir(parents=True)
    (here / "venv/pyvenv.cfg").touch()
    files = FolderWatcher([], wide=[str(here)], folders=[])
    files.close()
    assert files.folders == [str(here), str(here / "runs")]


def test_a_place_that_is_no_folder_is_no_error(tmp_path: Path) -> None:
    assert seen(tmp_path / "none", lambda _: None, folders=[os.devnull]).folders == []
