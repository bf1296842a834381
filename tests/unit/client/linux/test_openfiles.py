"""Files and pipes that processes have open, as /proc tells it, for this process and for children."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hai_client.linux import openfiles
from hai_client.linux.openfiles import files_for_writing, pipes, standard_pipes
from unit.client.rank.rank_kit import end

ME = os.getpid()
#: A number that no process has: the kernel's largest is smaller.
NOBODY = 2**22 + 1


def mine(folder: Path) -> dict[str, int]:
    """The files below a folder that this process has open for writing, by name."""
    return {
        os.path.relpath(path, folder): position
        for path, position in files_for_writing([ME]).items()
        if path.startswith(f"{folder}/")
    }


def test_files_that_are_written_are_found_with_the_position_of_the_next_byte(tmp_path: Path) -> None:
    with (tmp_path / "a.pt").open("wb", buffering=0) as file, (tmp_path / "b.pt").open("ab", buffering=0) as other:
        file.write(b"x" * 100)
        other.write(b"12")
        assert mine(tmp_path) == {"a.pt": 100, "b.pt": 2}
        file.seek(40)
        assert mine(tmp_path)["a.pt"] == 40
    assert mine(tmp_path) == {}


def test_of_two_descriptors_the_one_that_is_further_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    with path.open("wb", buffering=0) as first, path.open("r+b", buffering=0) as second:
        first.write(b"x" * 100)
        second.write(b"x" * 7)
        assert mine(tmp_path) == {"a.pt": 100}
        first.seek(1)
        assert mine(tmp_path) == {"a.pt": 7}


def test_what_is_only_read_or_was_deleted_or_is_no_file_is_left_out(tmp_path: Path) -> None:
    for name in ("read.pt", "gone.pt"):
        (tmp_path / name).write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        with (tmp_path / "read.pt").open("rb"), (tmp_path / "gone.pt").open("ab"), Path("/dev/null").open("wb"):
            (tmp_path / "gone.pt").unlink()
            found = files_for_writing([ME])
    finally:
        os.close(pipe)
    assert not [path for path in found if "read.pt" in path or "gone.pt" in path or path.startswith("/dev/")]


def test_a_folder_of_the_name_that_deleted_files_get_is_no_deleted_file(tmp_path: Path) -> None:
    with (tmp_path / "a.pt (deleted) 2").open("wb"):
        assert mine(tmp_path) == {"a.pt (deleted) 2": 0}


def test_a_process_that_is_gone_has_nothing_open() -> None:
    assert files_for_writing([NOBODY]) == {}
    assert pipes(NOBODY) == (set(), set())
    assert standard_pipes(NOBODY) == (None, set())


def test_a_process_with_very_many_descriptors_costs_a_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openfiles, "MAX_FDS", 0)
    with (tmp_path / "a.pt").open("wb"):
        assert mine(tmp_path) == {}
        assert pipes(ME) == (set(), set())


def test_a_descriptor_that_is_closed_meanwhile_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.listdir
    monkeypatch.setattr(openfiles.os, "listdir", lambda path: ["999999", *listed(path)])
    with (tmp_path / "a.pt").open("wb"):
        assert mine(tmp_path) == {"a.pt": 0}
    pipes(ME)


def name_of(fd: int) -> str:
    return f"pipe:[{os.fstat(fd).st_ino}]"


def test_the_ends_of_a_pipe_are_told_apart() -> None:
    read_end, write_end = os.pipe()
    name = name_of(read_end)
    read, written = pipes(ME)
    assert name in read
    assert name in written
    os.close(write_end)
    read, written = pipes(ME)
    assert name in read
    assert name not in written
    os.close(read_end)
    assert name not in pipes(ME)[0]


def test_the_standard_streams_of_a_process_that_are_pipes() -> None:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        assert standard_pipes(child.pid) == (name_of(child.stdin.fileno()), {name_of(child.stdout.fileno())})
    finally:
        end(child)


def test_standard_streams_that_are_files_are_no_pipes(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        assert standard_pipes(child.pid) == (None, set())
    finally:
        end(child)
