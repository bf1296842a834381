"""The tables of `squeue` and `sacct`: their columns and widths, as Slurm 22.05 prints them."""

from __future__ import annotations

import pytest

from hai_slurm.shared.getting import BadOption
from hai_slurm.shared.queries import fields, read_sacct, read_squeue
from hai_slurm.shared.tables import brief, elapsed

JOB = {"JOBID": "41", "NAME": "longjobname1", "USER": "alice", "STATE": "RUNNING", "ST": "R", "NODES": "2",
       "EXITCODE": "0:0", "ELAPSED": "00:00:05", "ELAPSED_RAW": "5", "START_TIME": "2026-11-27T22:28:14",
       "NODELIST": "n0", "REASON": "None", "PARTITION": "hai", "QOS": "HIGH", "EXEC_HOST": "n0"}  # fmt: skip
WAITS = {**JOB, "JOBID": "5", "USER": "bob", "STATE": "PENDING", "ST": "PD", "NAME": "x", "NODELIST": "",
         "PARTITION": "low", "QOS": "LOW", "EXEC_HOST": "n/a"}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ([], ["             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"]),
        (["-j", "41", "-h", "-o", "%T %.6D|%10j|"], ["RUNNING      2|longjobnam|"]),
        (["-h", "-o", "%.18i %.2t"], ["                41  R"]),
        # Whatever Slurm has, had or will have, and HAI knows nothing of, is empty.
        (["-h", "-o", "%i|%C|%w|%E|%5f|%T"], ["41||||     |RUNNING"]),
        (["-o", "%i %C", "-j7"], ["JOBID CPUS"]),
        # As in Slurm, the equals sign belongs to the value of a letter.
        (["-h", "-o=%i"], ["=41"]),
        (["--noh", "--format", "%i %t"], ["41 R"]),
        (
            ["-O", "jobid,state,name:5,starttime"],
            [
                "JOBID               STATE               NAME START_TIME          ",
                "41                  RUNNING             longj2026-11-27T22:28:14 ",
            ],
        ),
        (["-h", "-O", "jobid:.10,state:|,name:5;"], ["        41RUNNING|longj;"]),
        (["-h", "-O", "JobID: ,StateCompact:3,Reason:.7,cpus-per-task:4,frob:|"], ["41 R     None    |"]),
        (["-h", "--Format=jobid:6", "-r", "-a", "--array-unique", "-v", "-M", "all", "--federation"], ["41    "]),
    ],
)
def test_squeue_prints_the_columns_that_are_asked_for(words: list[str], lines: list[str]) -> None:
    jobs = [JOB] if len(lines) > 1 or "-h" in words or "--noh" in words else []
    assert read_squeue(words).lines(jobs, "alice") == lines


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ["-j", "41"],
            [
                "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode ",
                "------------ ---------- ---------- ---------- ---------- ---------- -------- ",
                "41           longjobna+        hai                          RUNNING      0:0 ",
            ],
        ),
        (
            ["-o", "JobID,State,NodeList", "--parsable2", "-j", "41", "-j", "42"],
            ["JobID|State|NodeList", "41|RUNNING|n0"],
        ),
        (["-n", "-X", "-p", "-o", "jobname%5,exitcode"], ["longjobname1|0:0|"]),
        # The titles are Slurm's own, however they are typed, and are cut without a sign.
        (["-X", "-o", "JOBID%4,jobname%4"], ["JobI JobN ", "---- ---- ", "  41 lon+ "]),
        (["-o", "jobid%4,state%-8"], ["JobI State    ", "---- -------- ", "  41 RUNNING  "]),
        (
            ["-P", "-o", "JOBIDRAW,state%5,ElapsedRaw,jobname%4"],
            ["JobIDRaw|State|ElapsedRaw|JobName", "41|RUNNING|5|longjobname1"],
        ),
        (["--delimiter=,", "-X", "-p", "-o", "jobid,state"], ["JobID,State,", "41,RUNNING,"]),
        (["-b", "-n", "-P"], ["41|RUNNING|0:0"]),
        (["-nPXj41", "-o", "State,MaxRSS,Frob"], ["RUNNING||"]),
        (["-n", "-P", "-o", "maxrss,State", "--units=G", "-D", "-a", "-L"], ["|RUNNING"]),
        (["-n", "-P", "-o", "State", "-j", "41.batch,41_3,41+0"], ["RUNNING"]),
    ],
)
def test_sacct_prints_what_programs_read(words: list[str], lines: list[str]) -> None:
    assert read_sacct(words).lines([JOB], "alice") == lines


def test_sacct_names_its_fields_in_columns() -> None:
    names = " ".join(fields()).split()
    assert (names[0], names[-1]) == ("Account", "WorkDir")
    assert {"JobID", "JobIDRaw", "State", "MaxRSS", "ElapsedRaw"} <= set(names)
    assert read_sacct(["--helpformat"]).fields
    assert read_sacct(["-e"]).fields


def test_jobs_are_chosen_and_ordered() -> None:
    for words, found in (
        (["-u", "bob"], ["5"]),
        (["--me"], ["41"]),
        (["-t", "PD"], ["5"]),
        (["--states=RUNNING,PENDING"], ["41", "5"]),
        (["-t", "all"], ["41", "5"]),
        (["-n", "x"], ["5"]),
        (["--name=x,y"], ["5"]),
        (["-j", "41.0,7"], ["41"]),
        (["--job", "5 , 41"], ["41", "5"]),
        (["-j", ""], ["41", "5"]),
        (["-p", "hai,batch"], ["41"]),
        (["--partition=none"], []),
        (["-q", "low"], ["5"]),
        (["-w", "n0,n1"], ["41"]),
        (["--start"], ["5"]),
        (["-S", "i"], ["5", "41"]),
        (["--sort=-i"], ["41", "5"]),
        (["--sort=t,-S"], ["5", "41"]),
    ):
        assert [job["JOBID"] for job in read_squeue(words).wanted([JOB, WAITS], "alice")] == found, words


@pytest.mark.parametrize(
    ("read", "words", "message"),
    [
        (read_squeue, ["--frob"], "--frob: not an option"),
        (read_squeue, ["-Z"], "-Z: not an option"),
        (read_squeue, ["41"], "41: a word too many; jobs are named with --jobs=41"),
        (read_squeue, ["-j"], "-j: a value is missing"),
        (read_squeue, ["-t", "FOO"], "'FOO' is no state of Slurm's; they are PENDING"),
        (read_squeue, ["--json"], "hai list --json"),
        (read_squeue, ["-i", "5"], "call it in a loop"),
        (read_squeue, ["-s"], "no account of steps"),
        (read_sacct, ["--st=r"], "it may be --starttime, --states: write it in full"),
        (read_sacct, ["-S", "2026-99-01"], "--starttime=2026-99-01: no time; write for example 2026-01-31T08:00"),
        (read_sacct, ["-E", "soon"], "--endtime=soon: no time"),
        (read_sacct, ["-B"], "hai status ID"),
    ],
)
def test_what_cannot_be_answered_is_named(read, words: list[str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        read(words)


def test_lengths_of_time_are_written_as_slurm_does() -> None:
    lengths = (0, 59.9, 600, 3661, 90061)
    assert [elapsed(seconds) for seconds in lengths] == [
        "00:00:00", "00:00:59", "00:10:00", "01:01:01", "1-01:01:01",
    ]  # fmt: skip
    assert [brief(seconds) for seconds in lengths] == ["0:00", "0:59", "10:00", "1:01:01", "1-01:01:01"]
