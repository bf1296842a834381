"""Which files of a folder are taken, which are left out, and what is said about them."""

from __future__ import annotations

import errno
import os
import shutil
import socket
from pathlib import Path

import pytest

from hai_client.snapshots import walking
from hai_client.snapshots.walking import NEVER, Skipped, TakenFile, TooMuch, WalkLimits
from unit.client.snapshots.walking_kit import a_folder, a_repository, git, paths, walked

with_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is asked here")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return a_folder(tmp_path / "code", {"train.py": "print(1)", "pkg/__init__.py": "", "pkg/deep/a.py": "a = 1"})


# -- what is taken -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "kind"), [(0o644, "f"), (0o755, "x"), (0o744, "x"), (0o655, "f"), (0o400, "f")], ids=str
)
def test_a_file_that_its_owner_may_execute_is_a_program(tmp_path: Path, mode: int, kind: str) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "a").chmod(mode)
    state = (tmp_path / "a").stat()
    stamp = (state.st_mtime_ns, state.st_ctime_ns, 5, state.st_ino, state.st_dev)
    assert walked(tmp_path, own_rules=True) == ([TakenFile("a", kind, "", stamp, 5)], [], [])


def test_files_are_taken_in_the_order_of_their_names_folder_by_folder(code: Path) -> None:
    found = walked(code, own_rules=True).found
    assert [one.path for one in found] == ["pkg/__init__.py", "pkg/deep/a.py", "train.py"]


def test_what_tools_keep_for_themselves_is_never_taken_nor_told(code: Path) -> None:
    for name in (*NEVER, "pkg/__pycache__"):
        a_folder(code / name, {"x": "x"})
    (code / "pkg/deep/.git").write_text("gitdir: elsewhere")
    found = walked(code, own_rules=True)
    assert (paths(found), found.skipped, found.notes) == ({"train.py", "pkg/__init__.py", "pkg/deep/a.py"}, [], [])


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_environments_are_left_out_whatever_their_names_are_and_not_counted(code: Path, mark: str) -> None:
    a_folder(code / "pkg/mine", {mark: "x", "lib/python.py": "x" * 1000})
    found = walked(code, own_rules=True)
    assert (len(found.found), found.skipped) == (3, [Skipped("pkg/mine", 0, False)])


def test_links_within_stay_and_others_are_left_out_aloud(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (code / "in").symlink_to("pkg/deep/a.py")
    (code / "folder").symlink_to("pkg")
    (code / "pkg/up").symlink_to("../train.py")
    (code / "pkg/absolute").symlink_to(code / "train.py")
    (code / "pkg/deep/top").symlink_to(code)
    (code / "here").symlink_to(code)
    (code / "out").symlink_to("/etc/passwd")
    (code / "up").symlink_to("../elsewhere")
    (code / "pkg/round").symlink_to("deep/../../../elsewhere")
    (code / "dangling").symlink_to("nothing")
    os.mkfifo(code / "pipe")
    monkeypatch.chdir(code)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
        found = walked(code, own_rules=True)
    assert {one.path: one.target for one in found.found if one.kind == "l"} == {
        "in": "pkg/deep/a.py", "folder": "pkg", "pkg/up": "../train.py", "pkg/absolute": "../train.py",
        "pkg/deep/top": "../..", "here": ".", "dangling": "nothing",
    }  # fmt: skip
    assert found.notes == [
        "out is a link to /etc/passwd and is left out: a task finds that only by its own path",
        "pipe is a pipe and is left out",
        "pkg/round is a link to deep/../../../elsewhere and is left out: a task finds that only by its own path",
        "sock is a socket and is left out",
        "up is a link to ../elsewhere and is left out: a task finds that only by its own path",
    ]


def test_a_link_to_a_folder_beside_with_a_longer_name_does_not_stay_within(code: Path, tmp_path: Path) -> None:
    a_folder(tmp_path / "code2", {"x": "x"})
    (code / "beside").symlink_to(tmp_path / "code2")
    found = walked(code, own_rules=True)
    assert "beside" not in paths(found)
    assert len(found.notes) == 1


def test_an_absolute_link_stays_within_a_folder_that_is_reached_by_a_link(code: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(code)
    (code / "pkg/absolute").symlink_to(code / "train.py")
    assert {one.target for one in walked(tmp_path / "way", own_rules=True).found if one.kind == "l"} == {"../train.py"}


def test_names_that_cannot_be_stored_are_left_out_aloud(code: Path) -> None:
    Path(os.fsdecode(os.fsencode(code) + b"/\xff.py")).write_text("x")
    (code / "two\nlines").write_text("x")
    found = walked(code, own_rules=True)
    assert len(found.found) == 3
    assert [note.rpartition("; ")[2] for note in found.notes] == ["it is left out"] * 2


@pytest.mark.parametrize("code_of_error", [errno.EACCES, errno.ENOENT, errno.EIO])
def test_a_folder_that_cannot_be_read_is_left_out_aloud(
    code: Path, monkeypatch: pytest.MonkeyPatch, code_of_error: int
) -> None:
    real = os.scandir

    def scan(place: str) -> object:
        if place.endswith("deep"):
            raise OSError(code_of_error, os.strerror(code_of_error))
        return real(place)

    monkeypatch.setattr(walking.os, "scandir", scan)
    found = walked(code, own_rules=True)
    assert paths(found) == {"train.py", "pkg/__init__.py"}
    assert found.notes == [f"pkg/deep/ cannot be read ({os.strerror(code_of_error).lower()}) and is left out"]


@pytest.mark.parametrize("kind", ["missing", "a file"])
def test_the_folder_itself_must_be_one_that_can_be_read(code: Path, kind: str) -> None:
    with pytest.raises(OSError, match=r"No such file|Not a directory"):
        walked(code / "none" if kind == "missing" else code / "train.py", own_rules=True)


@pytest.mark.parametrize(
    ("files", "size", "fits"),
    [(3, 13, True), (2, 100, False), (100, 12, False)],
    ids=["just what is there", "one file too many", "one byte too many"],
)
def test_more_than_may_be_sent_is_not_walked_through(code: Path, files: int, size: int, fits: bool) -> None:
    limits = WalkLimits(files, size)
    if fits:
        assert len(walked(code, own_rules=True, limits=limits).found) == 3
        return
    with pytest.raises(TooMuch) as error:
        walked(code, own_rules=True, limits=limits)
    assert {one.path for one in error.value.found} == {"train.py", "pkg/__init__.py", "pkg/deep/a.py"}


# -- rules ---------------------------------------------------------------------------------------------------


def test_what_rules_leave_out_is_told_with_its_size(code: Path) -> None:
    a_folder(code, {".haiignore": "data/\n*.ckpt\n", "data/deep/x": "x" * 1000, "data/y": "y" * 24, "pkg/m.ckpt": "m"})
    found = walked(code, own_rules=True)
    assert paths(found) == {".haiignore", "train.py", "pkg/__init__.py", "pkg/deep/a.py"}
    assert found.skipped == [Skipped("data/", 1024, True), Skipped("pkg/m.ckpt", 1, True)]


def test_not_all_of_a_large_data_set_is_counted(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "MOST_COUNTED", 5)
    files = {f"{place}/{number}": "12" for place in ("a", "b") for number in range(4)}
    a_folder(code, {".haiignore": "a\nb\n", **files})
    skipped = walked(code, own_rules=True).skipped
    assert skipped == [Skipped("a/", 8, True), Skipped("b/", 2, False)], "the limit is that of the whole walk"


def test_rules_of_a_folder_count_below_it_and_against_those_above(code: Path) -> None:
    a_folder(code, {".haiignore": "*.py\n/a.txt\n", "pkg/.haiignore": "!a.py\n", "a.txt": "", "pkg/a.txt": ""})
    assert paths(walked(code, own_rules=True)) == {".haiignore", "pkg/.haiignore", "pkg/a.txt", "pkg/deep/a.py"}


def test_outside_of_a_repository_a_gitignore_counts_as_in_one(code: Path) -> None:
    a_folder(code, {".gitignore": "/pkg\n", "pkg/.gitignore": "!*\n"})
    assert paths(walked(code)) == {".gitignore", "train.py"}


def test_haiignore_counts_instead_of_gitignore(code: Path) -> None:
    a_folder(code, {".gitignore": "*.py\n", ".haiignore": "pkg/\n"})
    assert paths(walked(code, own_rules=True)) == {".gitignore", ".haiignore", "train.py"}
    assert paths(walked(code)) == {".gitignore", ".haiignore"}


# -- git -----------------------------------------------------------------------------------------------------


@with_git
def test_what_git_tracks_is_taken_although_it_is_ignored(tmp_path: Path) -> None:
    files = {".gitignore": "data/\n", "a.py": "", "data/keep.txt": "", "data/x.bin": "", "data/deep/y.bin": ""}
    folder = a_repository(tmp_path / "code", files)
    git(folder, "add", "-f", "data/keep.txt")
    found = walked(folder)
    assert paths(found) == {".gitignore", "a.py", "data/keep.txt"}
    assert {one.path for one in found.skipped} == {"data/deep/", "data/x.bin"}


@with_git
@pytest.mark.parametrize("asked", [True, False], ids=["of git", "without git"])
def test_rules_of_the_folders_above_count_in_a_part_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    files = {".gitignore": "/src/data/\n*.pyc\n", "src/.gitignore": "build/\n", "src/part/.gitignore": "!keep.pyc\n"}
    lost = {"src/data/z": "", "src/build/o": "", "src/part/a.pyc": "", "src/part/build/o": ""}
    folder = a_repository(tmp_path / "code", {**files, **lost, "src/part/keep.pyc": "", "src/a.py": ""})
    if not asked:
        monkeypatch.setenv("PATH", "")
    assert paths(walked(folder / "src/part")) == {".gitignore", "keep.pyc"}
    assert paths(walked(folder / "src")) == {".gitignore", "a.py", "part/.gitignore", "part/keep.pyc"}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A repository with another one in it, each with rules of its own."""
    folder = a_repository(tmp_path / "code", {".gitignore": "*.bin\n", "a.bin": "", "a.py": ""})
    inner = a_repository(folder / "lib/inner", {".gitignore": "*.py\n", "b.py": "", "b.bin": "", "deep/c.bin": ""})
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "x")
    return folder


OF_TWO = {".gitignore", "a.py", "lib/inner/.gitignore", "lib/inner/b.bin", "lib/inner/deep/c.bin"}


@with_git
def test_in_a_repository_within_the_repository_its_own_rules_count(two: Path) -> None:
    assert paths(walked(two)) == OF_TWO


@with_git
@pytest.mark.parametrize("kind", ["a folder", "a file"])
def test_a_submodule_is_taken_as_any_repository_within(two: Path, kind: str) -> None:
    git(two, "add", "lib/inner")
    git(two, "commit", "-qm", "x")
    if kind == "a file":
        # As `git submodule add` leaves it: what git knows of it lies in the outer repository.
        (two / "lib/inner/.git").rename(two / ".git/inner")
        (two / "lib/inner/.git").write_text("gitdir: ../../.git/inner\n")
    assert paths(walked(two)) == OF_TWO


@with_git
def test_a_submodule_that_is_not_fetched_is_an_empty_folder(two: Path) -> None:
    git(two, "add", "lib/inner")
    git(two, "commit", "-qm", "x")
    shutil.rmtree(two / "lib/inner")
    (two / "lib/inner").mkdir()
    assert paths(walked(two)) == {".gitignore", "a.py"}


@with_git
def test_a_folder_in_the_place_of_a_file_that_git_tracks_is_no_submodule(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "code", {".gitignore": "*.bin\n", "data": ""})
    git(folder, "add", ".")
    (folder / "data").unlink()
    a_folder(folder, {"data/a.bin": "", "data/a.py": ""})
    assert paths(walked(folder)) == {".gitignore", "data/a.py"}
    (folder / "data/a.py").unlink()
    assert paths(walked(folder)) == {".gitignore"}
