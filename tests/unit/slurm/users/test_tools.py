"""What tools type, as their sources have it, and what they are answered; and that nobody gets a traceback."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from hai_slurm import commands
from unit.client import fake_platform as fakes

Run = Callable[..., tuple[int, str, str]]

HEAD = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
ENDED = {
    "state": "succeeded",
    "running_since": None,
    "ended_at": "2026-11-21T04:15:00Z",
    "served_s": 900.0,
    "run_count": 1,
    "verdict": None,
    "runs": [fakes.run_of(1)],
}


@pytest.fixture
def tasks(platform: Any) -> Any:
    """41 runs, 42 waits, 43 has ended, 44 has failed; all of alice, the caller."""
    since = fakes.AT
    platform.add(
        "run-a", state="running", node_names=["node-1", "node-2"], running_since=since, run_count=1, verdict=None
    )
    platform.add("run-b", held=True, time_limit_s=3600.0, tags=["rule_x"])
    platform.add("run-a", **ENDED)
    failed = fakes.run_of(1, failed_ranks=[0])
    failed["ranks"][0]["exit_code"] = 3
    platform.add("run-c", **{**ENDED, "state": "failed", "runs": [failed]})
    return platform


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


# ruff: noqa: ISC004
TOOLS = [
    # batchspawner; the column of a job without a node is what Slurm shows.
    ("squeue -h -j 41 -o '%T %B'", "RUNNING node-1\n"),
    ("squeue -h -j 42 -o '%T %B'", "PENDING n/a\n"),
    ("squeue -h -j 43 -o '%T %B'", ""),
    # parsl, before and now
    ("squeue --noheader --format='%i %t' --job '41,43,99'", "41 R\n"),
    ("sacct -X --noheader --format=jobid,state --job 41,43", "41              RUNNING \n43            COMPLETED \n"),
    # nextflow
    ("squeue --noheader -o '%i %t' -t all -p training -u alice", "41 R\n42 PD\n43 CD\n44 F\n"),
    # snakemake-executor-plugin-slurm
    (
        "sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime 2026-01-01T00:00"
        " --endtime now --name run-a",
        "41|RUNNING\n43|COMPLETED\n",
    ),
    (
        "sacct -X --parsable2 -n --format=JobIdRaw,State --starttime 2099-01-01T00:00 --endtime now --name run-a",
        "41|RUNNING\n",
    ),
    ("sacct -X --parsable2 --noheader --format=JobIdRaw,State --endtime 2020-01-01 --name run-a", ""),
    ("squeue --format=%i|%T --states=all --noheader --name run-a", "41|RUNNING\n43|COMPLETED\n"),
    (
        "sacct --name=run-b --parsable2 --noheader"
        " --format=JobID,JobName,Comment,Elapsed,TotalCPU,NNodes,NCPUS,MaxRSS,ReqMem",
        "42|run-b|rule_x|00:00:00||2|||\n",
    ),
    # submitit
    ("sacct -o JobID,State,NodeList --parsable2 -j 43 -j 99", "JobID|State|NodeList\n43|COMPLETED|node-1,node-2\n"),
    # aiida-core, which names a job twice
    (
        "squeue --noheader -o '%i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%S^^^%j^^^%V' --jobs=42,42",
        "42^^^PD^^^JobHeldUser^^^n/a^^^alice^^^2^^^^^^(JobHeldUser)^^^training^^^1:00:00^^^N/A^^^run-b^^^2026-11-21T04:00:00\n",
    ),
    # fyrd, jupyter's and other readers of long names
    ("squeue -h -O jobid:6,arraytaskid:6,state:10,numcpus:2,exit_code:3 -j 41", "41    N/A   RUNNING     0  \n"),
    ("squeue --job=41 --Format=State,exit_code --noheader", "RUNNING             0                   \n"),
    # scripts by the thousand
    ("squeue -h -u alice -q normal", ""),
    ("squeue -h --me -t PD -o %A", "42\n"),
    ("squeue -h -j 42 --start -o '%i|%S'", "42|N/A\n"),
    ("squeue -h -p none", ""),
    ("squeue -h -j 44,43", ""),
    (
        "sacct -j 44 -X -n -P -o State,Elapsed,NodeList,ExitCode,Start,End",
        "FAILED|00:15:00|node-1,node-2|3:0|2026-11-21T04:00:00|2026-11-21T04:15:00\n",
    ),
    (
        "sacct -n -P -j 43 -o JobID,Start,End,Elapsed,ElapsedRaw",
        "43|2026-11-21T04:00:00|2026-11-21T04:15:00|00:15:00|900\n",
    ),
    ("sacct -n -P -o JobID,Start,TimelimitRaw -s PD", "42|Unknown|60\n"),
    ("sacct -nPXs F,TO -o jobid", "44\n"),
    ("scontrol -o show job 99 -d", None),
    ("sinfo -h -o '%P|%l|%D|%a|%c|%m|%G'", "training*|infinite|3|up|||gpu:8\n"),
    ("sinfo -h -N -o '%N %T %G'", "node-1 allocated gpu:8\nnode-2 idle gpu:8\nnode-3 down gpu:8\n"),
    ("sinfo -h -p none", ""),
    (
        "sinfo -N -h -t idle,alloc -O NodeList:10,Gres:8,GresUsed:8,StateLong:10",
        "node-1    gpu:8   gpu:8   allocated \nnode-2    gpu:8   gpu:0   idle      \n",
    ),
    (
        "sinfo -h",
        "training*    up   infinite      1  alloc node-1\ntraining*    up   infinite      1   idle node-2\n"
        "training*    up   infinite      1   down node-3\n",
    ),
    ("sinfo -s -h -o '%P %F'", "training* 1/1/1/3\n"),
    ("scancel --name=none", ""),
    ("scancel --state=PENDING --user=alice --partition=none", ""),
    ("scancel 43 --clusters=all", ""),
]


@pytest.mark.parametrize(("line", "out"), TOOLS, ids=[line for line, _ in TOOLS])
def test_what_tools_type_is_answered(slurm: Run, tasks: Any, line: str, out: str | None) -> None:
    name, *words = shlex.split(line)
    if out is None:
        assert slurm(name, *words) == (1, "", f"{name}: error: Invalid job id specified\n")
        return
    code, found, err = slurm(name, *words)
    # The server's order is newest first; tools read lines in any.
    assert (code, sorted(found.splitlines()), err) == (0, sorted(out.splitlines()), "")


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("squeue", HEAD),
        ("squeue -h", ""),
        ("squeue -u alice", HEAD),
        ("squeue -h -j 99999 -o %T", ""),
        ("squeue -t PD", HEAD),
        ("squeue --me", HEAD),
        ("squeue -t all -h", ""),
        ("squeue -h --name x --me", ""),
        ("sacct -n -j 99999", ""),
        ("sacct -n", ""),
        ("sacct -nX -S now-2days -E now -u alice", ""),
        ("sacct -P -o jobid,state", "JobID|State\n"),
        ("sinfo -h", ""),
        ("scancel --me", ""),
        ("scancel -n x -u alice", ""),
        ("scancel -t PENDING", ""),
        ("scontrol show job", "No jobs in the system\n"),
        ("scontrol show nodes", ""),
        ("scontrol show partition -o", ""),
    ],
)
def test_an_empty_table_is_empty(slurm: Run, platform: Any, line: str, out: str) -> None:
    platform.nodes = []
    name, *words = shlex.split(line)
    assert slurm(name, *words) == (0, out, "")


def test_the_account_of_this_machine_is_the_caller(slurm: Run, tasks: Any) -> None:
    assert slurm("squeue", "-h", "-o", "%u", "-u", str(os.getuid()))[:2] == (0, "alice\nalice\n")
    assert slurm("squeue", "-h", "-o", "%i", "-j", "42", "-u", str(os.getuid()))[:2] == (0, "42\n")
    assert slurm("sacct", "-nX", "-P", "-o", "jobid", "-j", "43", "--name", "run a")[:2] == (0, "43\n")
    assert slurm("scancel", "-u", str(os.getuid()), "-t", "PD")[0] == 0
    assert [len(tasks.said("POST", f"/tasks/{number}/stop")) for number in (41, 42)] == [0, 1]


@pytest.mark.parametrize(("status", "code"), [(400, "invalid"), (403, "forbidden")])
def test_a_user_who_is_not_to_be_seen_has_no_jobs(slurm: Run, tasks: Any, status: int, code: str) -> None:
    def refuse(call: fakes.Call) -> None:
        if call.query.get("user") == "bob":
            raise fakes.Refuse(status, code, "no user 'bob' has used HAI yet")

    for name in ("squeue", "sacct"):
        tasks.before[:] = [refuse] * 9
        code_, out, err = slurm(
            name, "-u", "bob,alice", *(["-h", "-o", "%i"] if name == "squeue" else ["-nXPo", "jobid"])
        )
        assert (code_, "41" in out, err) == (
            0,
            True,
            f"{name}: error: Invalid user bob: no user 'bob' has used HAI yet\n",
        )


def test_a_limit_is_shown_without_a_job_being_named(slurm: Run, tasks: Any) -> None:
    """A list of tasks does not tell limits: UNLIMITED for a task with a limit would be wrong."""
    assert slurm("squeue", "-h", "-t", "PD", "-o", "%l")[1] == "1:00:00\n"


@pytest.mark.parametrize("name", commands.OUTSIDE)
def test_nobody_gets_a_traceback(slurm: Run, platform: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> int:
        raise RuntimeError("a\tb\x1b[1mc")

    monkeypatch.setattr("hai_slurm.users.commands.main", fail)
    assert slurm(name) == (1, "", f"{name}: error: unexpected RuntimeError: a b [1mc; HAI_DEBUG=1 shows where\n")


@pytest.mark.parametrize("name", ["squeue", "sacct", "sinfo", "scancel", "scontrol"])
def test_every_error_has_slurms_status(slurm: Run, platform: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"scancel": ["41"], "scontrol": ["show", "job", "41"]}.get(name, [])
    monkeypatch.setenv("HAI_TOKEN", "wrong")
    code, out, err = slurm(name, *words)
    assert (code, out) == (1, "")
    assert err.startswith(f"{name}: error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("variables", "line", "out"),
    [
        ({"SQUEUE_FORMAT": "%i|%t"}, "squeue -h -j 41", "41|R\n"),
        ({"SQUEUE_FORMAT": "%i|%t"}, "squeue -h -j 41 -o %T", "RUNNING\n"),
        ({"SACCT_FORMAT": "jobid,state"}, "sacct -n -P -j 43", "43|COMPLETED\n"),
        ({"SINFO_FORMAT": "%P"}, "sinfo -h", "training*\n"),
        ({"SLURM_TIME_FORMAT": "%s"}, "squeue -h -j 41 -o %V", "1795233600\n"),
        ({"SLURM_TIME_FORMAT": "standard"}, "squeue -h -j 41 -o %V", "2026-11-21T04:00:00\n"),
    ],
)
def test_slurms_variables_count(
    slurm: Run, tasks: Any, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], line: str, out: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    name, *words = shlex.split(line)
    assert slurm(name, *words) == (0, out, "")


def test_variables_of_sbatch_stand_between_the_script_and_the_command_line(
    slurm: Run, platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"SBATCH_PARTITION": "a100", "SBATCH_TIMELIMIT": "1-", "SBATCH_QOS": "high"}.items():
        monkeypatch.setenv(name, value)
    script = "#!/bin/sh\n#SBATCH -p cpu -t 5 -J x\n"
    assert slurm("sbatch", "--qos=low", stdin=script)[:2] == (0, "Submitted batch job 41\n")
    body = platform.said("POST", "/tasks")[0].body
    assert [body[name] for name in ("group", "time_limit_s", "priority", "name")] == ["a100", 86400.0, "LOW", "x"]
    monkeypatch.setenv("SBATCH_CONSTRAINT", "v100")
    assert slurm("sbatch", stdin=script)[2].startswith("sbatch: error: from the environment: --constraint=v100: ")


def test_a_step_is_not_taken_for_its_job(slurm: Run, tasks: Any) -> None:
    code, _, err = slurm("scancel", "--signal=TERM", "41.0")
    assert (code, err) == (
        1,
        "scancel: error: 41.0: HAI cannot cancel a step: name the job, or end the step in the task\n",
    )
    assert tasks.said("POST", "/tasks/41/stop") == []
