"""One run of a rehearsal: what its supervisor is given, and what is read of it. The supervisor is a stand-in here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hai_client.rank.starting.spec import Spec
from hai_client.rehearsal import turn
from hai_client.rehearsal.plan import RehearsalPlan
from hai_client.rehearsal.turn import RehearsalRun
from kit.waiting import wait_for

#: Opens files as a job that saves, and waits until it is ended.
JOB = """
import sys, time
files = [open(path, "ab") for path in sys.argv[1:]]
print("ready", flush=True)
time.sleep(600)
"""


class Runs:
    """Runs of a rehearsal below a folder, whose supervisors only open files."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.shown: list[str] = []
        self.opens: list[str] = []
        self.started: list[tuple[list[str], dict[str, Any]]] = []
        self._made: list[RehearsalRun] = []
        real = subprocess.Popen

        def start(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
            self.started.append((words, options))
            # The shell is the supervisor, the job below it has the files open.
            job = [sys.executable, "-c", JOB, *self.opens]
            return real(["sh", "-c", '"$@" & wait', "sh", *job], stdout=options["stdout"], start_new_session=True)

        monkeypatch.setattr(turn.subprocess, "Popen", start)

    def make(self, number: int = 1, state: str | None = None, **changes: Any) -> RehearsalRun:
        plan = RehearsalPlan(
            **{
                "command": ["python", "train.py"], "cwd": str(self.folder), "checkpoints": self.folder / "ckpt",
                "profile": "slurm", "after_s": 1.0, "grace_s": 60.0, **changes,
            }
        )  # fmt: skip
        made = RehearsalRun(plan, number, self.folder, state, self.shown.append)
        self._made.append(made)
        return made

    def close(self) -> None:
        for made in self._made:
            # What a shell starts with `&` ignores Ctrl-C, and may outlive the supervisor.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(made._process.pid, signal.SIGKILL)
            made._process.wait()
            made.service.close()


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    made = Runs(tmp_path, monkeypatch)
    yield made
    made.close()


def test_the_supervisor_is_given_a_rank_as_on_the_platform(runs: Runs) -> None:
    run = runs.make(signal="USR2", signal_before_s=30.0, watch=("/logs",), env={"MINE": "1"}, gpus=2, port=3000)
    spec = Spec.load(str(run.folder))
    assert (spec.run_id, spec.rank, spec.command, spec.profile) == ("1.1", 0, ["python", "train.py"], "slurm")
    assert (spec.signal, spec.signal_before_s, spec.watch) == ("USR2", 30.0, ["/logs"])
    assert spec.api_url == run.service.url
    assert len(spec.token()) == 32
    env = spec.env
    assert (env["MINE"], env["HAI_CHECKPOINT_DIR"], env["MASTER_PORT"]) == ("1", str(runs.folder / "ckpt"), "3000")
    assert (env["PET_NPROC_PER_NODE"], env["SLURM_JOB_NAME"]) == ("2", "rehearsal")


@pytest.mark.parametrize(("number", "state", "restarts"), [(1, None, "0"), (2, "epoch 7", "1")])
def test_the_second_run_knows_that_it_is_one_and_what_the_first_has_stored(
    runs: Runs, number: int, state: str | None, restarts: str
) -> None:
    env = Spec.load(str(runs.make(number, state).folder)).env
    assert (env["HAI_RESTARTS"], env["HAI_RUN"], env.get("HAI_STATE")) == (restarts, str(number), state)


def test_the_token_is_in_no_argument_and_no_variable_of_the_supervisor(runs: Runs) -> None:
    run = runs.make()
    token = (run.folder / "token").read_text()
    words, options = runs.started[0]
    assert token not in " ".join(words) + json.dumps(options["env"])
    assert options["start_new_session"]


def write(run: RehearsalRun, start: int, text: str) -> None:
    with (run.folder / "log" / f"{start:020d}.log").open("a") as file:
        file.write(text)


def test_lines_of_the_log_are_shown_once_and_whole(runs: Runs) -> None:
    run = runs.make()
    run.show_log()
    write(run, 0, "T one\nT two words\nT hal")
    run.show_log()
    run.show_log()
    assert runs.shown == ["one", "two words"]
    write(run, 0, "f\n")
    run.show_log()
    assert runs.shown[2:] == ["half"]


def test_a_log_of_several_parts_is_read_through(runs: Runs) -> None:
    run = runs.make()
    write(run, 0, "T one\n")
    write(run, 6, "T two\n")
    (run.folder / "log" / "other").write_text("T none\n")
    run.show_log()
    assert runs.shown == ["one", "two"]
    (run.folder / "log" / f"{0:020d}.log").unlink()
    write(run, 6, "T three\n")
    write(run, 20, "T four\n")
    run.show_log()
    assert runs.shown == ["one", "two", "three", "four"]


def test_parts_that_went_before_they_were_read_are_passed_over(runs: Runs) -> None:
    run = runs.make()
    write(run, 0, "T one\n")
    run.show_log()
    (run.folder / "log" / f"{0:020d}.log").unlink()
    write(run, 600, "T later\n")
    run.show_log()
    assert runs.shown == ["one", "later"]


@pytest.mark.parametrize("content", [None, b"", b"{", b"[1]", b"\xff"])
def test_a_record_that_is_not_there_yet_is_empty(runs: Runs, content: bytes | None) -> None:
    run = runs.make()
    if content is not None:
        (run.folder / "status.json").write_bytes(content)
    assert run.status() == {}
    (run.folder / "status.json").write_text('{"pid": 5}')
    assert run.status() == {"pid": 5}


def test_files_of_the_in_job_api_are_read(runs: Runs) -> None:
    run = runs.make()
    assert run.mark("polling") is None
    (run.folder / "runtime" / "polling").write_text("1")
    assert run.mark("polling") == "1"
    (run.folder / "runtime" / "odd").write_bytes(b"\xff")
    assert run.mark("odd") is None


def test_open_files_with_names_of_checkpoints_are_found(runs: Runs, tmp_path: Path) -> None:
    names = ["a.pt", "b.SAFETENSORS", "c.log", "d.pt.tmp", "e.ckpt"]
    runs.opens = [str(tmp_path / name) for name in names]
    run = runs.make()
    wait_for("the job", lambda: "ready" in (run.folder / "supervisor.log").read_text())
    assert {Path(path).name for path in run.open_checkpoints()} == {"a.pt", "b.SAFETENSORS", "d.pt.tmp", "e.ckpt"}


def test_closing_ends_it_and_shows_the_last_lines(runs: Runs) -> None:
    run = runs.make()
    write(run, 0, "T last words\n")
    assert not run.gone
    run.close()
    assert run.gone
    assert runs.shown == ["last words"]
    run.end()
    assert run.gone


def test_what_the_supervisor_itself_has_said_is_its_trouble(runs: Runs) -> None:
    run = runs.make()
    wait_for("the job", lambda: run.trouble() == "ready")
