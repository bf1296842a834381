"""Which files a name, a folder or a list of names means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hai_ffrecord import FileReader
from hai_ffrecord.paths import files_of
from kit.ffrecord_files import lay_out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of one sample, their name, and other things."""
    for name in ("b", "a", "c"):
        lay_out(tmp_path / f"{name}.ffr", [name.encode()])
    (tmp_path / "other.txt").write_text("no records")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.ffr").mkdir()
    os.mkfifo(tmp_path / "pipe.ffr")
    return tmp_path


def names(folder: Path, fname: Any) -> list[str]:
    return [os.path.relpath(path, folder) for path in files_of(fname)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("b.ffr", ["b.ffr"]),
        (["c.ffr", "a.ffr"], ["c.ffr", "a.ffr"]),
        (("c.ffr", "c.ffr"), ["c.ffr", "c.ffr"]),
    ],
)
def test_a_list_keeps_its_order(folder: Path, given: Any, found: list[str]) -> None:
    paths = folder / given if isinstance(given, str) else type(given)(folder / one for one in given)
    assert names(folder, paths) == found


@pytest.mark.parametrize("kind", [str, Path])
def test_a_folder_means_its_files_in_the_order_of_their_names(folder: Path, kind: Any) -> None:
    for name in ("pipe.ffr", "folder.ffr"):
        (folder / name).rename(folder / name.replace(".ffr", ".old"))
    assert names(folder, kind(folder)) == ["a.ffr", "b.ffr", "c.ffr"]
    reader = FileReader(folder)
    assert [sample.tobytes() for sample in reader.read([0, 1, 2])] == [b"a", b"b", b"c"]
    assert reader.fnames == [str(folder / name) for name in ("a.ffr", "b.ffr", "c.ffr")]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ("missing.ffr", FileNotFoundError, "missing.ffr does not exist"),
        ("empty", FileNotFoundError, r"empty has no file whose name ends with \.ffr"),
        ("other.txt", ValueError, r"other.txt does not end with \.ffr"),
        (["a.ffr", "missing.ffr"], FileNotFoundError, "missing.ffr does not exist"),
        (["folder.ffr"], ValueError, "folder.ffr is not a file: inside a list"),
        ("pipe.ffr", ValueError, "pipe.ffr is not a file"),
        ([], ValueError, "fname is empty"),
        ((), ValueError, "fname is empty"),
    ],
)
def test_names_that_are_none_are_refused_by_name(folder: Path, given: Any, error: type[Exception], says: str) -> None:
    paths = folder / given if isinstance(given, str) else type(given)(folder / one for one in given)
    with pytest.raises(error, match=says):
        files_of(paths)


@pytest.mark.parametrize("given", [3, None, {"a.ffr"}, b"a.ffr"])
def test_what_is_no_name_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="fname must be a path, or a list or tuple of paths, not"):
        files_of(given)
