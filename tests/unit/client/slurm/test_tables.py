"""The tables of `squeue` and `sacct`: their columns, and which jobs are in them."""

from __future__ import annotations

import pytest

from hai_client.slurm.tables import TableError, elapsed, lines, read_sacct, read_squeue, wanted

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
