"""Writing: the bytes of the original, and a file that is there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_ffrecord import FFRecordError, FileWriter, writer
from kit.ffrecord_files import laid_out

CLIENT = Path(__file__).parents[3] / "client" / "hfai"


def written(path: Path, samples: list[bytes]) -> bytes:
    with FileWriter(path, len(samples)) as file:
        for sample in samples:
            file.write_one(sample)
    return path.read_bytes()


# What the C++ writer of ffrecord 1.4.0 made of these samples.
@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], "69df22650000000000000000"),
        (
            [b"hello", b"", b"\x00\xff" * 3],
            "024570f2030000000000000086a61036000000004fbd3ce830000000000000003500000000000000350000000000000068656c6c6f00ff00ff00ff",
        ),
    ],
    ids=["none", "three"],
)
def test_the_bytes_are_those_of_the_original(tmp_path: Path, samples: list[bytes], expected: str) -> None:
    assert written(tmp_path / "a.ffr", samples).hex() == expected


def test_the_bytes_of_many_samples_are_those_of_the_original(tmp_path: Path) -> None:
    samples = [bytes([i % 256]) * (i * 37 % 5000) for i in range(1000)]
    found = hashlib.sha256(written(tmp_path / "a.ffr", samples)).hexdigest()
    assert found == "ca6bf7028b8eb131b6ca57fa678f5491c917852eaf6de498fbe47afb994a4fbd"


@given(samples=st.lists(st.binary(max_size=300), max_size=40), gathered=st.integers(1, 200), kept=st.integers(1, 10))
def test_any_samples_are_laid_out_as_described(
    tmp_path_factory: pytest.TempPathFactory, samples: list[bytes], gathered: int, kept: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.ffr"
    with pytest.MonkeyPatch.context() as patch:
        # So that a few samples are written in many pieces.
        patch.setattr(writer, "GATHERED", gathered)
        patch.setattr(writer, "ENTRIES", kept)
        assert written(path, samples) == laid_out(samples)


def test_calls_that_write_less_than_asked_are_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, data[:7], at))
    samples = [b"first sample", b"second, which is longer"]
    assert written(tmp_path / "a.ffr", samples) == laid_out(samples)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (bytearray(b"abc"), b"abc"),
        (memoryview(b"abc")[1:], b"bc"),
        (np.frombuffer(b"abcd", np.uint8), b"abcd"),
        (np.array([1, 256], "<u2"), b"\x01\x00\x00\x01"),
        (np.zeros((2, 3), np.uint8), bytes(6)),
        (np.zeros((0, 3), np.uint8), b""),
    ],
    ids=["bytearray", "memoryview", "array", "wide", "table", "empty"],
)
def test_all_bytes_of_a_buffer_are_written(tmp_path: Path, data: object, expected: bytes) -> None:
    path = tmp_path / "a.ffr"
    with FileWriter(path, 1) as file:
        file.write_one(data)
    assert path.read_bytes() == laid_out([expected])


@pytest.mark.parametrize(
    "data", ["text", 3, None, np.zeros((4, 4), np.uint8)[:, 1]], ids=["str", "int", "none", "strided"]
)
def test_what_has_no_bytes_is_refused_and_the_writer_goes_on(tmp_path: Path, data: object) -> None:
    path = tmp_path / "a.ffr"
    with FileWriter(path, 1) as file:
        with pytest.raises(TypeError):
            file.write_one(data)
        file.write_one(b"good")
    assert path.read_bytes() == laid_out([b"good"])


def test_one_too_many_is_refused(tmp_path: Path) -> None:
    with FileWriter(tmp_path / "a.ffr", 1) as file:
        file.write_one(b"1")
        with pytest.raises(FFRecordError, match="begun for 1 samples"):
            file.write_one(b"2")
        assert file.count == file.n == 1


def test_too_few_leave_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.ffr"
    path.write_bytes(b"before")
    file = FileWriter(path, 2)
    file.write_one(b"1")
    with pytest.raises(FFRecordError, match="begun for 2 samples and 1 were written"):
        file.close()
    file.close()
    assert [p.name for p in tmp_path.iterdir()] == ["a.ffr"]
    assert path.read_bytes() == b"before"


def test_an_error_meanwhile_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.ffr"
    path.write_bytes(b"before")
    file = FileWriter(path, 1)
    file.write_one(b"1")
    with pytest.raises(ZeroDivisionError), file:
        raise ZeroDivisionError
    assert [p.name for p in tmp_path.iterdir()] == ["a.ffr"]
    assert path.read_bytes() == b"before"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ffr"
    path.write_bytes(b"before")
    file = FileWriter(path, 1)
    file.write_one(b"1")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space"):
        file.close()
    assert [p.name for p in tmp_path.iterdir()] == ["a.ffr"]
    assert path.read_bytes() == b"before"
    with pytest.raises(ValueError, match="closed"):
        file.write_one(b"2")


KILLED = """
import os, signal, sys
from hai_ffrecord import FileWriter
writer = FileWriter(sys.argv[1], 3)
writer.write_one(b"x" * (2 << 20))
print("written", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_writer_that_is_killed_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.ffr"
    path.write_bytes(b"before")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], env={"PYTHONPATH": str(CLIENT)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"written\n"), done.stderr
    assert path.read_bytes() == b"before"
    # What is left of it is none of the files that a reader of the folder takes.
    assert [p.name for p in tmp_path.glob("*.ffr")] == ["a.ffr"]


def test_no_reader_sees_the_file_before_it_is_whole(tmp_path: Path) -> None:
    with FileWriter(tmp_path / "a.ffr", 1) as file:
        file.write_one(b"1")
        assert list(tmp_path.glob("*.ffr")) == []
    assert [p.name for p in tmp_path.iterdir()] == ["a.ffr"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    link = tmp_path / "a.ffr"
    link.symlink_to(tmp_path / "data" / "b.ffr")
    assert written(link, [b"1"]) == laid_out([b"1"])
    assert link.is_symlink()
    assert (tmp_path / "data" / "b.ffr").exists()


def test_the_rights_are_those_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        written(tmp_path / "a.ffr", [])
    finally:
        os.umask(before)
    assert (tmp_path / "a.ffr").stat().st_mode & 0o777 == 0o640


def test_a_writer_that_goes_away_with_all_samples_has_finished(tmp_path: Path) -> None:
    path = tmp_path / "a.ffr"
    file = FileWriter(path, 1)
    file.write_one(b"1")
    del file
    assert path.read_bytes() == laid_out([b"1"])


def test_a_writer_that_goes_away_too_early_says_so(tmp_path: Path) -> None:
    file = FileWriter(tmp_path / "a.ffr", 2)
    with pytest.warns(ResourceWarning, match="0 of 2 samples"):
        del file
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_leaves_the_file_to_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "a.ffr"
    code = (
        "import os, sys\n"
        "from hai_ffrecord import FileWriter\n"
        "w = FileWriter(sys.argv[1], 2); w.write_one(b'1')\n"
        "if not (pid := os.fork()):\n"
        "    try: w.write_one(b'2')\n"
        "    except ValueError as e: print('refused', flush=True)\n"
        "    sys.exit()\n"
        "os.waitpid(pid, 0); w.write_one(b'2'); w.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(path)],
        env={"PYTHONPATH": str(CLIENT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")
    assert path.read_bytes() == laid_out([b"1", b"2"])


@pytest.mark.parametrize(
    ("name", "n", "error"),
    [
        ("a.bin", 1, ValueError),
        ("a.ffr", -1, ValueError),
        ("a.ffr", 1.5, TypeError),
        ("a.ffr", "1", TypeError),
        ("missing/a.ffr", 1, FileNotFoundError),
        ("folder.ffr", 1, IsADirectoryError),
    ],
)
def test_what_cannot_be_written_is_refused_at_once(
    tmp_path: Path, name: str, n: object, error: type[Exception]
) -> None:
    (tmp_path / "folder.ffr").mkdir()
    with pytest.raises(error):
        FileWriter(tmp_path / name, n)  # type: ignore[arg-type]
    assert [p.name for p in tmp_path.iterdir()] == ["folder.ffr"]
