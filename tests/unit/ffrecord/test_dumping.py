"""Whole data sets, into one file or many."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_ffrecord import FileReader, dump

#: Python 3.12 says so where pytest-xdist has a thread of its own.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


class Broken(list[bytes]):
    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if index == 7:
            raise ZeroDivisionError
        return super().__getitem__(index)


def all_of(path: Path) -> list[bytes]:
    reader = FileReader(path)
    return [sample.tobytes() for sample in reader.read(range(reader.n))]


SAMPLES = [bytes([at]) * at for at in range(20)]


def test_one_file(tmp_path: Path) -> None:
    dump(SAMPLES, tmp_path / "a.ffr", 1)
    assert all_of(tmp_path / "a.ffr") == SAMPLES


def test_several_files_are_filled_one_after_another(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    dump(SAMPLES, tmp_path / "new" / "folder", 3, verbose=True)
    assert all_of(tmp_path / "new" / "folder") == SAMPLES
    counts = [(path.name, FileReader(path).n) for path in sorted((tmp_path / "new" / "folder").iterdir())]
    assert counts == [("PART_00000.ffr", 7), ("PART_00001.ffr", 7), ("PART_00002.ffr", 6)]
    assert "PART_00002.ffr: 6 samples" in capfd.readouterr().out


def test_fewer_files_than_asked_are_said(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="20 samples make 7 files of 3, not 8"):
        dump(SAMPLES, tmp_path / "folder", 8)
    assert all_of(tmp_path / "folder") == SAMPLES


def test_nothing_is_one_empty_file(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="0 samples make 1 files"):
        dump([], tmp_path / "folder", 2)
    assert all_of(tmp_path / "folder") == []


def test_parts_of_another_dump_would_be_read_too(tmp_path: Path) -> None:
    dump(SAMPLES, tmp_path, 4)
    with pytest.raises(ValueError, match=r"PART_00002\.ffr of another dump"):
        dump(SAMPLES, tmp_path, 2)
    dump(SAMPLES[:10], tmp_path, 4 + 1 - 1)
    with pytest.raises(ValueError, match="nfiles is 0"):
        dump(SAMPLES, tmp_path, 0)


def test_a_file_that_could_not_be_written_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match=r"1 of 4 files could not be written, the first of them .*PART_00001\.ffr"):
        dump(Broken(SAMPLES), tmp_path, 4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["PART_00000.ffr", "PART_00002.ffr", "PART_00003.ffr"]
    assert "ZeroDivisionError" in capfd.readouterr().err
