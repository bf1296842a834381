"""Whole lines of several tasks, names of files, and tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hai_client.slurm.output import Mixer, file_name, names_tasks
from hai_client.slurm.tables import TableError, elapsed, lines, read_sacct, read_squeue, wanted

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


JOB = {"JOBID": "41", "NAME": "digits", "USER": "alice", "STATE": "RUNNING", "ST": "R", "NODES": "2", "EXITCODE": "0:0"}


def test_squeue_prints_its_own_columns_and_those_that_are_asked_for() -> None:
    query = read_squeue(["-j", "41", "-h", "-o", "%T %.6D|%10j|"])
    assert lines(query, wanted(query, [JOB], "alice")) == ["RUNNING      2|digits    |"]
    head = lines(read_squeue([]), [])[0]
    assert head.split() == ["JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"]
    assert head.startswith("             JOBID PARTITION")


def test_sacct_prints_what_programs_read() -> None:
    query = read_sacct(["-o", "JobID,State,NodeList", "--parsable2", "-j", "41", "-j", "42"])
    assert query.jobs == ["41", "42"]
    found = lines(query, wanted(query, [JOB, {**JOB, "JOBID": "43"}], "alice"))
    assert found == [
        "JobID|State|NodeList",
        "41|RUNNING|",
    ]
    assert lines(read_sacct(["-n", "-X", "-p", "-o", "jobname%5,exitcode"]), [JOB]) == ["digits|0:0|"]
    assert lines(read_sacct(["-o", "jobid%4,state%-8"]), [JOB]) == [
        "jobi state   ", "---- --------", "  41 RUNNING ",
    ]  # fmt: skip


def test_jobs_are_chosen_by_number_user_state_and_name() -> None:
    other = {**JOB, "JOBID": "5", "USER": "bob", "STATE": "PENDING", "NAME": "x"}
    for words, found in (
        (["-u", "bob"], ["5"]),
        (["--me"], ["41"]),
        (["-t", "PD"], ["5"]),
        (["--states=RUNNING,PENDING"], ["41", "5"]),
        (["-t", "all"], ["41", "5"]),
        (["-n", "x"], ["5"]),
        (["-j", "41.0,7"], ["41"]),
    ):
        query = read_squeue(words)
        assert [job["JOBID"] for job in wanted(query, [JOB, other], "alice")] == found


@pytest.mark.parametrize(
    ("read", "words"),
    [(read_squeue, ["--frob"]), (read_squeue, ["-o", "%w"]), (read_sacct, ["-o", "MaxRSS"]), (read_sacct, ["-Z"]),
     (read_squeue, ["41"])],
)  # fmt: skip
def test_a_column_or_an_option_that_is_not_known_is_named(read, words: list[str]) -> None:
    with pytest.raises(TableError):
        read(words)


def test_lengths_of_time_are_written_as_slurm_does() -> None:
    assert [elapsed(seconds) for seconds in (0, 59.9, 3661, 90061)] == [
        "00:00:00", "00:00:59", "01:01:01", "1-01:01:01",
    ]  # fmt: skip
