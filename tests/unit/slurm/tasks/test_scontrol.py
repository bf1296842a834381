"""`scontrol` inside a task: what it prints, and what it reports to the supervisor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hai_slurm.tasks.scontrol import main


@pytest.fixture(autouse=True)
def job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A job with the id 41 on three nodes; returns the folder of its reports."""
    reports = tmp_path / "reports"
    reports.mkdir()
    variables = {
        "SLURM_JOB_ID": "41",
        "SLURM_JOB_NAME": "digits",
        "SLURM_JOB_NODELIST": "n[1-2],m7",
        "SLURM_JOB_NUM_NODES": "3",
        "HAI_RUNTIME_DIR": str(tmp_path),
    }
    for name in ("SLURM_JOB_USER", "SLURM_NODELIST", "SLURM_RESTART_COUNT", "SLURM_JOB_PARTITION", "SLURM_SUBMIT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return reports


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["show", "hostnames"], "n1\nn2\nm7\n"),
        (["show", "hostname", "a[08-10]"], "a08\na09\na10\n"),
        (["-o", "show", "hostnames", "b1"], "b1\n"),
        (["show", "hostlist", "n1,n2 m7"], "n1,n2,m7\n"),
        (["show", "hostlistsorted", "n1", "n2"], "n1,n2\n"),
    ],
)
def test_lists_of_hosts(words: list[str], out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out == out


def test_the_older_name_of_the_list_of_nodes_is_read_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST")
    monkeypatch.setenv("SLURM_NODELIST", "old[1-2]")
    assert main(["show", "hostnames"]) == 0
    assert capsys.readouterr().out == "old1\nold2\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "hostnames", "n[1-"], "scontrol: "),
        (["show", "job", "42"], "job 42 is not this task (41)"),
        (["requeue", "41", "42"], "job 42 is not this task (41)"),
        (["update", "JobId=41"], "'update JobId=41' is not known inside a task of HAI; known are requeue"),
        ([], "'' is not known"),
    ],
)
def test_what_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str], job: Path) -> None:
    assert main(words) == 1
    found = capsys.readouterr()
    assert (found.out, said in found.err) == ("", True)
    assert list(job.iterdir()) == []


@pytest.mark.parametrize("words", [[], ["41"], ["41.0"], ["41_1"]], ids=["none", "job", "step", "array"])
def test_a_job_shows_itself(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "job", *words]) == 0
    shown = dict(pair.split("=", 1) for pair in capsys.readouterr().out.split(" "))
    assert (shown["JobId"], shown["JobName"], shown["NodeList"], shown["NumNodes"]) == (
        "41",
        "digits",
        "n[1-2],m7",
        "3",
    )
    assert (shown["JobState"], shown["Restarts"], shown["UserId"]) == ("RUNNING", "0", "")


def test_requeue_reports_that_every_rank_has_saved(job: Path) -> None:
    assert main(["requeue", "41"]) == 0
    (report,) = job.iterdir()
    told = json.loads(report.read_text())
    assert (told["kind"], told["all_ranks"], told["at"][-1]) == ("done", True, "Z")
    assert report.name.endswith("-scontrol.json")
