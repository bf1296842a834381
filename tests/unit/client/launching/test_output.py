"""Whole lines of several tasks, and names of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hai_client.launching.output import Mixer, file_name, names_tasks

FACTS = {"j": "41", "A": "41", "a": "0", "x": "n", "u": "alice", "N": "10.0.0.2", "n": "1", "t": "3", "s": "0"}


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("out", "/w/out"),
        ("/abs/%j", "/abs/41"),
        ("%x-%j_%t.log", "/w/n-41_3.log"),
        ("%4t.%N", "/w/0003.10.0.0.2"),
        ("100%%", "/w/100%"),
        ("%q", "/w/%q"),
        ("%99j", "/w/0000000041"),
        ("%5x", "/w/n"),
    ],
)
def test_a_pattern_names_a_file_as_with_slurm(pattern: str, path: str) -> None:
    assert file_name(pattern, FACTS, "/w") == path


def test_a_file_for_each_task_is_told_from_one_for_all() -> None:
    assert [names_tasks(pattern) for pattern in ("%j_%t", "%N", "%3n", "%j", "%%t", "x")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("width", "printed", "shown"),
    [
        (None, [b"a", b"b\nc", b"\n"], b"ab\nc\n"),
        (1, [b"a", b"b\nc", b"\n"], b"3: ab\n3: c\n"),
        (2, [b"x"], b"03: x\n"),
        (None, [b"10 %\r", b"20 %\r", b"done"], b"10 %\r20 %\rdone"),
        (None, [b""], b""),
    ],
)
def test_lines_stay_whole(tmp_path: Path, width: int | None, printed: list[bytes], shown: bytes) -> None:
    place = tmp_path / "out"
    target = os.open(place, os.O_WRONLY | os.O_CREAT)
    read_end, write_end = os.pipe()
    for part in printed:
        os.write(write_end, part)
    os.close(write_end)
    Mixer(target, width).read(read_end, 3)
    os.close(target)
    assert place.read_bytes() == shown
