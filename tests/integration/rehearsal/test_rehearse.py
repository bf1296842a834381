"""`hai rehearse` on real processes: what it says must be what happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hai_client.linux.processes import read_environment, read_table

#: Counts, and keeps the count as it is told to by what is put in its place.
COUNT = """
import json, os, signal, sys, time
from pathlib import Path
path = Path(os.environ["HAI_CHECKPOINT_DIR"]) / "count.json"
count = int(path.read_text()) if path.exists() else 0
print("counts from", count)
def save():
    draft = path.with_suffix(".tmp")
    draft.write_text(str(count))
    draft.replace(path)
{more}
while True:
    count += 1
    time.sleep(0.02)
    {each}
"""
HANDLER = COUNT.format(
    more="signal.signal(signal.SIGTERM, lambda *_: (save(), print('saved', count), sys.exit(0)))", each=""
)
NAIVE = COUNT.format(more="", each="")
EARLY = COUNT.format(more="", each="save() if count == 10 else None")
POLLS = COUNT.format(
    more="from hai_client import job",
    each="if job.should_suspend():\n        save(); job.suspended(step=count, path=path)",
)
#: Only the first run: what is judged of the second is its beginning.
DEAF = COUNT.format(
    more="if os.environ['HAI_RESTARTS'] == '0': signal.signal(signal.SIGTERM, lambda *_: None)", each=""
)


@dataclass
class Rehearsed:
    code: int
    facts: dict[str, Any]
    out: str
    err: str


@pytest.fixture
def rehearse(tmp_path: Path, hai_env: dict[str, str]) -> Callable[..., Rehearsed]:
    def run(script: str, *options: str, **more: str) -> Rehearsed:
        (tmp_path / "train.py").write_text(script)
        words = [
            "rehearse",
            "--json",
            "--when",
            "counts",
            "--after",
            "1",
            "--grace",
            "20",
            *options,
            "--",
            sys.executable,
            "train.py",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "hai_client", *words],
            cwd=tmp_path, env={**hai_env, **more}, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.stdout, done.stderr
        return Rehearsed(done.returncode, json.loads(done.stdout), done.stdout, done.stderr)

    return run


@pytest.fixture
def hai_env(tmp_path: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, sys.path))
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": path, "MARK": str(tmp_path)}


def test_a_handler_that_saves_loses_nothing(rehearse) -> None:
    done = rehearse(HANDLER, "--profile", "sigterm")
    facts = done.facts
    assert (done.code, facts["nothing_lost"], facts["left"], facts["lost_s"]) == (0, True, "saved", 0)
    first, second = facts["first"], facts["second"]
    assert (first["caught"], first["polls"], first["ended"], first["exit_code"]) == (True, False, False, 0)
    assert "TERM" in first["handlers"]
    assert first["saved"]["source"] == "seen"
    assert first["saved"]["path"].endswith("/count.json")
    assert first["last"] is None
    assert (second["how"], second["path"]) == ("read", first["saved"]["path"])
    assert "run 2 | counts from 0" not in done.err
    assert "would notice nothing" in facts["otherwise"]["cooperative"]
    assert "unless it handles SIGUSR1 under Slurm" in facts["otherwise"]["slurm"]


def test_who_saves_nothing_is_told_what_is_lost(rehearse) -> None:
    done = rehearse(NAIVE, "--profile", "sigterm", "--then", "1")
    facts = done.facts
    assert (done.code, facts["left"]) == (1, "unknown")
    assert (facts["first"]["caught"], facts["first"]["saved"], facts["first"]["exit_code"]) == (False, None, 143)
    assert facts["lost_s"] >= 1
    assert facts["second"]["how"] is None
    assert "run 2 | counts from 0" in done.err


def test_a_checkpoint_before_the_notice_is_the_last_one_and_no_more(rehearse) -> None:
    done = rehearse(EARLY, "--profile", "sigterm", "--after", "2")
    facts = done.facts
    assert (done.code, facts["left"], facts["first"]["saved"]) == (1, "unknown", None)
    assert facts["first"]["last"]["at_s"] < 0
    assert facts["lost_s"] == pytest.approx(facts["first"]["leave_s"] - facts["first"]["last"]["at_s"], abs=0.01)
    # It goes on from there all the same, and that is said.
    assert facts["second"]["how"] == "read"
    assert "would be lost" in facts["verdict"]


@pytest.mark.parametrize("profile", ["sigterm", "cooperative", "slurm"])
def test_a_job_that_polls_is_told_whatever_the_profile(rehearse, profile: str) -> None:
    done = rehearse(POLLS, "--profile", profile)
    facts = done.facts
    assert (done.code, facts["left"], facts["first"]["polls"]) == (0, "saved", True)
    saved = facts["first"]["saved"]
    assert (saved["source"], Path(saved["path"]).name) == ("told", "count.json")
    assert saved["step"] > 0
    assert f"counts from {saved['step']}" in done.err


def test_who_does_not_leave_is_ended_at_the_deadline(rehearse) -> None:
    done = rehearse(DEAF, "--profile", "sigterm", "--grace", "2", "--then", "1")
    facts = done.facts
    assert (done.code, facts["left"], facts["first"]["ended"]) == (1, "ended", True)
    assert facts["first"]["leave_s"] >= 2
    assert facts["lost_s"] > facts["first"]["leave_s"]


def test_a_file_that_was_cut_off_is_no_checkpoint(rehearse) -> None:
    script = """
import os, time
from pathlib import Path
path = Path(os.environ["HAI_CHECKPOINT_DIR"]) / "model.pt"
print("counts")
with path.open("w") as file:
    while True:
        file.write("x")
        file.flush()
        time.sleep(0.02)
"""
    facts = rehearse(script, "--profile", "sigterm", "--grace", "3", "--then", "1").facts
    assert facts["first"]["saved"] is None
    assert facts["first"]["cut"].endswith("/model.pt")
    # It never stops writing, so it is left until its time is over.
    assert (facts["left"], facts["nothing_lost"]) == ("ended", False)


def test_a_checkpoint_elsewhere_is_found_by_its_name(rehearse, tmp_path: Path) -> None:
    script = HANDLER.replace('Path(os.environ["HAI_CHECKPOINT_DIR"]) / "count.json"', 'Path("runs/model.ckpt")')
    (tmp_path / "runs").mkdir()
    done = rehearse(script, "--profile", "sigterm")
    assert (done.code, done.facts["second"]["path"]) == (0, str(tmp_path / "runs/model.ckpt"))


def test_a_file_of_any_name_counts_when_it_was_saved_on_notice_and_read_again(rehearse, tmp_path: Path) -> None:
    script = HANDLER.replace('Path(os.environ["HAI_CHECKPOINT_DIR"]) / "count.json"', 'Path("progress")')
    done = rehearse(script, "--profile", "sigterm")
    assert (done.code, done.facts["first"]["saved"]["path"]) == (0, str(tmp_path / "progress"))


def test_data_that_both_runs_read_is_no_checkpoint(rehearse, tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_bytes(b"data")
    script = "from pathlib import Path\nPath('data.npz').read_bytes()\n" + NAIVE
    done = rehearse(script, "--profile", "sigterm", "--then", "1")
    assert (done.code, done.facts["second"]["how"], done.facts["left"]) == (1, None, "unknown")


def test_a_place_outside_is_seen_when_it_is_named(rehearse, tmp_path: Path, tmp_path_factory) -> None:
    place = tmp_path_factory.mktemp("elsewhere")
    script = HANDLER.replace('Path(os.environ["HAI_CHECKPOINT_DIR"]) / "count.json"', f"Path({str(place)!r}, 'count')")
    done = rehearse(script, "--profile", "sigterm", "--watch", str(place))
    assert (done.code, done.facts["first"]["saved"]["path"]) == (0, str(place / "count"))


def test_a_second_run_that_fails_is_no_success(rehearse) -> None:
    script = HANDLER.replace('print("counts from", count)', "print('counts'); assert count == 0, 'torn'")
    done = rehearse(script, "--profile", "sigterm")
    facts = done.facts
    assert (done.code, facts["left"], facts["second"]["exit_code"]) == (1, "saved", 1)
    assert "could not go on" in facts["verdict"]


def test_a_command_that_ends_before_the_notice_is_no_rehearsal(rehearse) -> None:
    done = rehearse("print('done')", "--profile", "sigterm", "--after", "60")
    facts = done.facts
    assert (done.code, facts["left"], facts["second"], facts["first"]["exit_code"]) == (1, None, None, 0)
    assert "nothing was rehearsed" in facts["verdict"]


def test_a_state_is_kept_and_read_by_the_second_run(rehearse) -> None:
    script = """
import time
from hai_client import job
count = int(job.state or 0)
print("counts from", count, flush=True)
while True:
    count += 1
    time.sleep(0.02)
    if job.should_suspend():
        job.set_state(str(count))
        job.suspended(step=count)
"""
    done = rehearse(script, "--profile", "cooperative")
    assert (done.code, done.facts["second"]["how"]) == (0, "state")


def test_more_time_to_save_is_granted_as_on_the_platform(rehearse) -> None:
    script = POLLS.replace("save();", "job.saving(15); time.sleep(3); save();")
    done = rehearse(script, "--profile", "cooperative", "--grace", "1")
    assert (done.code, done.facts["left"]) == (0, "saved")
    assert done.facts["first"]["leave_s"] >= 3


def test_without_a_notice_all_is_lost(rehearse) -> None:
    done = rehearse(HANDLER, "--profile", "kill", "--then", "1")
    assert (done.code, done.facts["left"], done.facts["first"]["ended"]) == (1, "ended", True)


def test_a_rehearsal_inside_of_a_task_is_a_task_of_its_own(rehearse, monkeypatch) -> None:
    script = "import os; print(sorted((n, v) for n, v in os.environ.items() if n in ('HAI_RUN', 'HAI_TOKEN', 'RANK')))"
    outer = {"HAI_RUN": "7", "HAI_TOKEN": "secret", "RANK": "3", "HAI_TASK_ID": "12"}
    done = rehearse(f"print('counts'); {script}", "--profile", "sigterm", "--after", "60", **outer)
    assert "run 1 | [('HAI_RUN', '1')]" in done.err


def test_no_such_command_is_said_in_one_line(tmp_path: Path, hai_env) -> None:
    words = [sys.executable, "-m", "hai_client", "rehearse", "--", "./nope"]
    done = subprocess.run(words, cwd=tmp_path, env=hai_env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "./nope: command not found" in done.stdout + done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_outlives_a_rehearsal_that_is_ended(tmp_path: Path, hai_env, number: int) -> None:
    (tmp_path / "train.py").write_text(NAIVE)
    place = tmp_path / "tmp"
    place.mkdir()
    hai_env = {**hai_env, "TMPDIR": str(place)}
    words = [sys.executable, "-m", "hai_client", "rehearse", "--after", "1h", "--", sys.executable, "train.py"]
    process = subprocess.Popen(words, cwd=tmp_path, env=hai_env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    with process.stdout:
        assert any(b"counts from 0" in line for line in process.stdout)
        assert len(of_the_test(tmp_path)) > 1
        process.send_signal(number)
        process.wait(60)
    end = time.monotonic() + 60
    while of_the_test(tmp_path):
        assert time.monotonic() < end, of_the_test(tmp_path)
        time.sleep(0.05)
    # Who is killed removes nothing.
    assert (list(place.iterdir()) == []) is (number != signal.SIGKILL)


def of_the_test(folder: Path) -> list[int]:
    """Processes with this test's mark."""
    mark = str(folder).encode()
    return [
        pid
        for pid, process in read_table().items()
        if not process.zombie and read_environment(pid).get(b"MARK") == mark
    ]
