"""A task's code is written as it was taken, or not at all what is not right."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.errors import HaiError, Invalid
from hai_client.snapshots import manifest
from hai_client.snapshots.packing import Packer
from hai_client.snapshots.pulling import manifest_of, pull
from kit.code_folders import Code, sha


class Service:
    """A service that has one snapshot, and sends a few contents at once."""

    def __init__(self, code: Code, at_once: int = 2) -> None:
        self.body = code.body
        self.contents = {sha(content): content for content in code.files.values()}
        entries = manifest.parse(code.body, most=1000).entries
        self.order = [one.what for one in manifest.missing_first(entries, set(self.contents))]
        self.at_once = at_once
        self.asked: list[int] = []

    def task_manifest(self, task: str) -> bytes:
        return self.body

    def task_contents(self, task: str, start: int) -> bytes:
        self.asked.append(start)
        packer = Packer()
        for digest in self.order[start : start + self.at_once]:
            packer.add(digest, self.contents[digest])
        return packer.finish()


CODE = Code(
    {
        "a.py": b"a = 1", "run.sh": b"#!/bin/sh", "pkg/deep/b.py": b"b = 2", "pkg/same.py": b"a = 1",
        "pkg/same.sh": b"a = 1", "empty": b"", "large": b"x" * 3_000_000,
    },
    {"link": "pkg/deep/b.py", "pkg/up": "../a.py", "dangling": "nothing"},
)  # fmt: skip


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize(("at_once", "asked"), [(1, [0, 1, 2, 3, 4]), (2, [0, 2, 4]), (5, [0]), (100, [0])])
def test_a_folder_is_written_as_it_was_taken(tmp_path: Path, at_once: int, asked: list[int]) -> None:
    service = Service(CODE, at_once)
    folder = tmp_path / "new/folder"
    found = pull(service, "7", folder)
    assert found.digest == CODE.digest
    assert files_in(folder) == CODE.files
    links = {str(path.relative_to(folder)): str(path.readlink()) for path in folder.rglob("*") if path.is_symlink()}
    assert links == {"link": "pkg/deep/b.py", "pkg/up": "../a.py", "dangling": "nothing"}
    assert service.asked == asked


@pytest.mark.parametrize(
    ("mask", "file", "program"), [(0o022, 0o644, 0o755), (0o077, 0o600, 0o700)], ids=["all may read", "nobody else may"]
)
def test_programs_can_be_executed_and_the_mask_of_the_process_counts(
    tmp_path: Path, mask: int, file: int, program: int
) -> None:
    before = os.umask(mask)
    try:
        pull(Service(CODE), "7", tmp_path / "new")
    finally:
        os.umask(before)
    modes = {name: (tmp_path / "new" / name).stat().st_mode & 0o777 for name in CODE.files}
    assert modes == {name: program if name.endswith(".sh") else file for name in CODE.files}


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.binary(max_size=20)), st.integers(1, 4))
def test_any_folder_comes_back(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], at_once: int) -> None:
    folder = tmp_path_factory.mktemp("any")
    pull(Service(Code(files), at_once), "7", folder)
    assert files_in(folder) == files


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("not empty", "is not empty; name a new one"),
        ("a file", "cannot be written (file exists)"),
        ("below a file", "cannot be written (not a directory)"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused_and_stays_as_it_was(tmp_path: Path, what: str, says: str) -> None:
    (tmp_path / "here").write_text("mine")
    folder = {"not empty": tmp_path, "a file": tmp_path / "here", "below a file": tmp_path / "here/new"}[what]
    service = Service(CODE)
    with pytest.raises(Invalid) as error:
        pull(service, "7", folder)
    assert str(error.value) == f"folder: {folder} {says}"
    assert (files_in(tmp_path), service.asked) == ({"here": b"mine"}, [])


def test_a_disk_that_is_full_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hai_client.snapshots.pulling.os.open", full)
    with pytest.raises(Invalid, match=r"new cannot be written \(no space left on device\)"):
        pull(Service(CODE), "7", tmp_path / "new")


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", CODE.body[:-1], CODE.body.replace(b"a.py", b"../a"), CODE.body.replace(b"nothing", b"/etc/pw")],
    ids=["empty", "another form", "cut off", "a path above", "a link out"],
)
def test_a_manifest_that_cannot_be_used_writes_nothing(tmp_path: Path, body: bytes) -> None:
    service = Service(CODE)
    service.body = body
    with pytest.raises(HaiError, match=r"^snapshot: the manifest of 7 cannot be used: "):
        manifest_of(service, "7")
    with pytest.raises(HaiError, match=r"^snapshot: the manifest of 7 cannot be used: "):
        pull(service, "7", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        (b"no stream", "not compressed with zlib"),
        (CODE.stream([sha(b"b = 2")])[:-8], "ends in the middle"),
        (zlib.compress(b""), "sent nothing more of 7; try again"),
        (b"", "ends in the middle"),
        (Code({"evil": b"evil"}).stream([sha(b"evil")]), "was not asked for"),
        (CODE.stream([sha(b"a = 1"), sha(b"a = 1")]), "was not asked for"),
    ],
    ids=["not compressed", "cut off", "empty", "no byte", "another content", "twice"],
)
def test_what_comes_is_checked_and_never_taken_for_the_whole(tmp_path: Path, stream: bytes, says: str) -> None:
    service = Service(CODE)
    service.task_contents = lambda task, start: stream  # type: ignore[method-assign]
    with pytest.raises(HaiError, match=says):
        pull(service, "7", tmp_path / "new")
    assert not (tmp_path / "new/large").exists()


def test_a_content_that_was_changed_is_not_written(tmp_path: Path) -> None:
    service = Service(CODE)
    service.contents[sha(b"b = 2")] = b"b = 3"
    with pytest.raises(HaiError, match="another SHA-256"):
        pull(service, "7", tmp_path / "new")
    assert not (tmp_path / "new/pkg/deep/b.py").exists()


def test_what_the_service_says_is_passed_on(tmp_path: Path) -> None:
    def gone(task: str, start: int) -> bytes:
        raise HaiError("snapshot: 7 has none")

    service = Service(CODE)
    service.task_contents = gone  # type: ignore[method-assign]
    with pytest.raises(HaiError, match="7 has none"):
        pull(service, "7", tmp_path / "new")
