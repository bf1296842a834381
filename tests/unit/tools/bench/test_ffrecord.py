"""The benchmark of FFRecord measures what it says."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import ffrecord
from bench.figures import Report
from hai_ffrecord import FileReader


def test_every_reader_is_measured(monkeypatch) -> None:
    monkeypatch.delenv("HAI_FFRECORD_ORIGINAL", raising=False)
    monkeypatch.delenv("HAI_FFRECORD_SOURCES", raising=False)
    report = Report()
    ffrecord.measure(report, {1024: (70, 0.9)}, rounds=1, seconds=0.001)
    names = [figure.name for figure in report.figures]
    assert names == ["hai_ffrecord", "hai_ffrecord, one thread", "hai_ffrecord, no checksums", "a file each, zlib"]
    assert all(figure.value > 0 for figure in report.figures)
    assert "the original's reader" in report.skipped


class Theirs:
    """A stand-in for the original's module."""

    @staticmethod
    def FileReader(names: list[str], check: bool) -> FileReader:  # noqa: N802 -- the original's name
        return FileReader(names, check)


def test_the_original_is_what_we_are_held_against(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(ffrecord, "original", lambda _folder: Theirs)
    report = Report()
    ffrecord.measure(report, {2048: (70, 1e-9)}, rounds=2, seconds=0.001)
    (held,) = [figure for figure in report.figures if figure.target]
    assert (held.name, held.reached) == ("hai_ffrecord to the original", True)


def test_all_read_the_same_batches_and_none_in_the_process_of_another(tmp_path: Path) -> None:
    def reader(name: str) -> Callable[[], ffrecord.Read]:
        def read(batch: Sequence[int]) -> list[bytes]:
            with (tmp_path / name).open("a") as file:
                print(os.getpid(), *batch, file=file)
            return [bytes(1)] * len(batch)

        return lambda: read

    ffrecord.in_turn({"a": reader("a"), "b": reader("b")}, 1000, rounds=3, seconds=0.001)
    seen = {name: [line.split() for line in (tmp_path / name).read_text().splitlines()] for name in "ab"}
    assert [line[1:] for line in seen["a"]] == [line[1:] for line in seen["b"]]
    processes = {name: {line[0] for line in lines} for name, lines in seen.items()}
    assert len(processes["a"]) == len(processes["b"]) == 1
    assert len(processes["a"] | processes["b"] | {str(os.getpid())}) == 3
