"""The options of `hai rehearse`: what is made of them, and what is shown. No run is started here."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_client.cli.submitting import rehearse as verb
from hai_client.rehearsal import rehearse as rehearsal
from hai_client.rehearsal.facts import First, RehearsalFacts, Second, SeenCheckpoint
from hai_client.rehearsal.plan import RehearsalPlan
from unit.client.conftest import Hai

SAVED = SeenCheckpoint(1.5, "told", "/ckpt/a.pt", 7)
FIRST = First(told=True, before_s=10, exit_code=0, leave_s=2, polls=True, said_done=True, saved=SAVED)
SECOND = Second(seconds=5, exit_code=None, how="read", path="/ckpt/a.pt", after_s=2)


class Rehearsals:
    """The plans that were rehearsed, and what each rehearsal finds."""

    def __init__(self) -> None:
        self.plans: list[RehearsalPlan] = []
        self.facts = RehearsalFacts(("x",), "cooperative", 120, FIRST, SECOND)
        self.broken = ""
        self.meanwhile: Callable[[RehearsalPlan], None] = lambda plan: None

    @property
    def plan(self) -> RehearsalPlan:
        [plan] = self.plans
        return plan


@pytest.fixture
def rehearsals(monkeypatch: pytest.MonkeyPatch) -> Rehearsals:
    found = Rehearsals()

    class Fake:
        def __init__(self, plan: RehearsalPlan, show: Callable[[int, str], None], say: Callable[[str], None]) -> None:
            found.plans.append(plan)
            self.plan, self.show, self.say = plan, show, say

        def run(self) -> RehearsalFacts:
            self.show(1, "epoch 1")
            self.say("it is told to leave now")
            found.meanwhile(self.plan)
            if found.broken:
                raise rehearsal.BrokenRehearsal(found.broken)
            return found.facts

    monkeypatch.setattr(rehearsal, "Rehearsal", Fake)
    return found


def test_without_options_it_is_told_after_ten_seconds(hai: Hai, rehearsals: Rehearsals) -> None:
    assert hai("rehearse", "--", "sh", "-c", "true").code == 0
    plan = rehearsals.plan
    assert (plan.command, plan.cwd, plan.profile) == (["sh", "-c", "true"], os.getcwd(), "auto")  # noqa: PTH109
    assert (plan.after_s, plan.when, plan.grace_s, plan.then_s) == (10.0, None, 120.0, None)
    assert (plan.signal, plan.signal_before_s, plan.watch, plan.state) == (None, None, (), None)


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--after", "2m"], "after_s", 120.0),
        # From the line with that text on, at once.
        (["--when", "epoch 1"], "after_s", 0.0),
        (["--when", "epoch 1", "--after", "5s"], "after_s", 5.0),
        (["--profile", "slurm"], "profile", "slurm"),
        (["--grace", "30s"], "grace_s", 30.0),
        (["--then", "1m"], "then_s", 60.0),
        (["--signal", "USR1"], "signal", "USR1"),
        (["--signal", "SIGUSR2@60"], "signal", "USR2"),
        (["--signal", "SIGUSR2@60"], "signal_before_s", 60.0),
    ],
)
def test_options_become_the_plan(hai: Hai, rehearsals: Rehearsals, words: list[str], field: str, value: object) -> None:
    assert hai("rehearse", *words, "--", "sh").code == 0
    assert getattr(rehearsals.plan, field) == value


def test_paths_are_those_of_the_folder_that_it_starts_in(hai: Hai, rehearsals: Rehearsals, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    hai("rehearse", "--cwd", str(tmp_path / "there"), "--watch", "../a", "--watch", "/b", "--", "sh")
    assert rehearsals.plan.cwd == str(tmp_path / "there")
    assert rehearsals.plan.watch == (str(tmp_path / "a"), "/b")


def test_an_own_folder_of_checkpoints_is_made_and_stays(hai: Hai, rehearsals: Rehearsals, tmp_path: Path) -> None:
    assert hai("rehearse", "--checkpoint-dir", "deep/er", "--", "sh").code == 0
    folder = tmp_path / "work" / "deep" / "er"
    assert rehearsals.plan.checkpoints == folder
    assert folder.is_dir()


def test_without_one_they_go_to_a_folder_that_is_removed(hai: Hai, rehearsals: Rehearsals) -> None:
    seen: list[bool] = []
    rehearsals.meanwhile = lambda plan: seen.append(plan.checkpoints.is_dir())
    hai("rehearse", "--", "sh")
    assert seen == [True]
    assert not rehearsals.plan.checkpoints.exists()


def test_a_folder_that_cannot_be_made_is_named(hai: Hai, rehearsals: Rehearsals, tmp_path: Path) -> None:
    (tmp_path / "work" / "file").touch()
    found = hai("rehearse", "--checkpoint-dir", "file/x", "--", "sh")
    assert found.code == 2
    assert "checkpoint-dir: " in found.err
    assert "cannot be made (not a directory)" in found.err
    assert rehearsals.plans == []


def test_it_gets_the_variables_of_this_shell_but_none_of_a_task(
    hai: Hai, rehearsals: Rehearsals, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HAI_RANK", "SLURM_JOB_ID", "PET_NNODES", "TORCHELASTIC_RUN_ID", "WORLD_SIZE", "RANK", "MASTER_ADDR"):
        monkeypatch.setenv(name, "outer")
    monkeypatch.setenv("MINE", "1")
    hai("rehearse", "-e", "RANK=7", "-e", "A=b=c", "--", "sh")
    env = rehearsals.plan.env
    assert (env["MINE"], env["RANK"], env["A"]) == ("1", "7", "b=c")
    assert "outer" not in env.values()
    assert "HAI_TOKEN" not in env


@pytest.mark.parametrize(("there", "program"), [(True, "python"), (False, sys.executable)])
def test_python_is_this_one_where_no_other_is_on_the_path(tmp_path: Path, program: str, *, there: bool) -> None:
    if there:
        (tmp_path / "python").touch(mode=0o755)
    env = {"PATH": str(tmp_path)}
    assert verb.runnable(["python", "train.py"], env) == [program, "train.py"]
    assert verb.runnable(["torchrun", "python"], env) == ["torchrun", "python"]


def test_the_verdict_is_the_status_and_the_output_is_shown_by_runs(hai: Hai, rehearsals: Rehearsals) -> None:
    found = hai("rehearse", "--", "sh")
    assert found.code == 0
    assert "run 1 | epoch 1\n" in found.out
    assert "10 s from now it is told to leave (profile auto); nothing is submitted" in found.err
    rehearsals.facts = RehearsalFacts(("x",), "auto", 120, FIRST, None)
    assert hai("rehearse", "--when", "epoch", "--", "sh").code == 1


def test_as_json_only_the_facts_are_on_the_standard_output(hai: Hai, rehearsals: Rehearsals) -> None:
    found = hai("rehearse", "--json", "--", "sh")
    facts: dict[str, Any] = json.loads(found.out)
    assert facts["nothing_lost"] is True
    assert "run 1 | epoch 1" in found.err


def test_a_rehearsal_that_cannot_be_done_is_an_error_in_one_line(hai: Hai, rehearsals: Rehearsals) -> None:
    rehearsals.broken = "the run could not be supervised here: no ptrace"
    found = hai("rehearse", "--", "sh")
    assert found.code == 1
    assert "the run could not be supervised here: no ptrace" in found.err
    assert "Traceback" not in found.err
    assert not rehearsals.plan.checkpoints.exists()


def test_elsewhere_than_on_linux_it_says_so(hai: Hai, rehearsals: Rehearsals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb.sys, "platform", "darwin")
    found = hai("rehearse", "--", "sh")
    assert found.code == 1
    assert "a rehearsal needs Linux, as the cluster does; this is darwin" in found.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_as_ctrl_c_does_and_it_cleans_up(hai: Hai, rehearsals: Rehearsals, number: int) -> None:
    rehearsals.meanwhile = lambda plan: os.kill(os.getpid(), number)
    assert hai("rehearse", "--", "sh").code == 128 + number
    assert not rehearsals.plan.checkpoints.exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_under_nohup_the_end_of_the_terminal_stays_ignored(hai: Hai, rehearsals: Rehearsals) -> None:
    kept = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    rehearsals.meanwhile = lambda plan: os.kill(os.getpid(), signal.SIGHUP)
    try:
        assert hai("rehearse", "--", "sh").code == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, kept)
