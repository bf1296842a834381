"""Folders that others may write to are changed and removed without following a link, whenever it came."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from haienv.shared.files import write_atomically
from haienv.shared.unfollowed import held, remove_tree, set_mode, set_owner

#: What the module asks of the kernel. At each of these a swap may come between two of its steps.
CALLS = ("chmod", "chown", "fstat", "mkdir", "open", "rename", "rmdir", "scandir", "unlink")


class Outside:
    """A folder that nothing may touch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "below").mkdir(parents=True)
        (folder / "below" / "kept").write_text("kept")
        for path in (folder, folder / "below", folder / "below" / "kept"):
            path.chmod(0o500)
        self._before = self._state()

    def _state(self) -> list[tuple[str, int, int, int]]:
        paths = [self.folder, *sorted(self.folder.rglob("*"))]
        return [
            (str(path), *(getattr(path.lstat(), f"st_{what}") for what in ("mode", "ino", "nlink"))) for path in paths
        ]

    def check(self) -> None:
        assert self._state() == self._before


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    made = Outside(tmp_path / "outside")
    yield made
    for path in (made.folder, made.folder / "below"):
        path.chmod(0o700)


def grown(top: Path) -> Path:
    (top / "a" / "b" / "c").mkdir(parents=True)
    (top / "a" / "x").mkdir()
    for name in ("f", "a/f", "a/b/f", "a/b/c/f", "a/x/f"):
        (top / name).write_text(name)
    (top / "a" / "link").symlink_to("/")
    # Names that the removal might want for itself.
    (top / "1").mkdir()
    (top / "2").write_text("2")
    return top


@contextmanager
def swapping(monkeypatch: pytest.MonkeyPatch, at: int, swap: Callable[[], None]) -> Iterator[list[str]]:
    """Call `swap` before the call number `at` to the kernel; yields the names of the calls."""
    calls: list[str] = []
    busy = False

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal busy
            if not busy:
                calls.append(name)
                if len(calls) == at:
                    busy = True
                    swap()
                    busy = False
            return real(*args, **options)

        return call

    with monkeypatch.context() as patched:
        for name in CALLS:
            patched.setattr(os, name, counted(name, getattr(os, name)))
        yield calls


@pytest.mark.parametrize("victim", ["a", "a/b", "a/b/c", "a/x", "1"])
def test_a_link_that_comes_while_a_tree_is_removed_is_not_followed(
    victim: str, tmp_path: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    for point in count(1):
        top = grown(tmp_path / f"top-{point}")
        aside = tmp_path / f"aside-{point}"
        # The folders move while it goes on: the swap is where the victim is now, as its owner holds it.
        holding = os.open(top / victim, os.O_RDONLY)
        swapped = False

        def swap() -> None:
            nonlocal swapped
            path = Path(f"/proc/self/fd/{holding}").readlink()  # noqa: B023
            if path.is_dir():
                path.rename(aside)  # noqa: B023
                path.symlink_to(outside.folder)
                swapped = True

        with swapping(monkeypatch, point, swap) as calls:
            try:
                remove_tree(top)
            except OSError:
                assert swapped
            else:
                assert not top.exists()
        os.close(holding)
        outside.check()
        if len(calls) < point:
            return


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o555])
def test_a_tree_without_rights_is_removed_and_what_it_links_to_is_not(
    mode: int, tmp_path: Path, outside: Outside
) -> None:
    top = grown(tmp_path / "top")
    (top / "a" / "out").symlink_to(outside.folder)
    for folder, _, _ in os.walk(top, topdown=False):
        Path(folder).chmod(mode)
    remove_tree(top)
    assert not top.exists()
    outside.check()


def test_a_tree_is_removed_however_deep_it_is(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        remove_tree(tmp_path / "d")
        assert not (tmp_path / "d").exists()
    finally:
        # pytest could not.
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)


def test_what_is_no_folder_stays(tmp_path: Path, outside: Outside) -> None:
    (tmp_path / "link").symlink_to(outside.folder)
    (tmp_path / "file").write_text("x")
    for name in ("link", "file", "absent"):
        remove_tree(tmp_path / name)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").exists()
    outside.check()


def test_mode_and_owner_are_those_of_the_folder_that_is_held(tmp_path: Path, outside: Outside) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o000)
    with held(folder) as fd:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(outside.folder)
        set_mode(fd, 0o3775)
        set_owner(fd, -1, os.getegid())
    assert stat.S_IMODE((tmp_path / "moved").stat().st_mode) == 0o3775
    outside.check()
    with pytest.raises(NotADirectoryError), held(folder):
        pass


def test_a_file_is_not_written_through_a_link_in_the_place_of_its_draft(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    (tmp_path / f".spec.{os.getpid()}").symlink_to(kept)
    with pytest.raises(OSError, match="symbolic links"):
        write_atomically(tmp_path / "spec", "new")
    assert kept.read_text() == "kept"
