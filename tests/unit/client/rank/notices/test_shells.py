"""Shells that must start nothing more: stopped, ended when their children have left, with the status of these."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_client.linux.processes import Process, children_of, descendants, read_program, read_table
from hai_client.rank.notices.shells import Shells
from kit.waiting import wait_for
from unit.client.rank.rank_kit import a_process, state_of, wait_for_state

WAIT_S = 5.0


class Script:
    """A bash with a script whose first stage is `sleep`; its next stage would make the file `next`."""

    def __init__(self, folder: Path, text: str) -> None:
        self.next, self.cleaned = folder / "next", folder / "cleaned"
        self.process = subprocess.Popen(
            ["bash", "-c", f"{text}\necho > {self.next}"],
            env={**os.environ, "CLEANED": str(self.cleaned)},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.pid = self.process.pid
        # The stage is there when it has become the program.
        self.stage = wait_for("the stage", self._find)

    def _find(self) -> int:
        below = descendants(read_table(), [self.pid])
        return next((pid for pid in below if read_program(pid) == "sleep"), 0)

    def children(self) -> list[int]:
        return children_of(read_table())[self.pid]

    def end_stage(self, number: int = signal.SIGTERM) -> None:
        os.kill(self.stage, number)
        if state_of(self.pid) == "stopped":
            wait_for_state(self.stage, "ended")

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def scripts(tmp_path: Path) -> Iterator[list[Script]]:
    made: list[Script] = []
    yield made
    for script in made:
        script.close()


@pytest.fixture
def script(tmp_path: Path, scripts: list[Script], request: pytest.FixtureRequest) -> Script:
    """A script of the test's own, `sleep 600` without one."""
    scripts.append(Script(tmp_path, getattr(request, "param", "sleep 600")))
    return scripts[-1]


@pytest.fixture
def shells() -> Shells:
    return Shells(None, WAIT_S)


def keep(shells: Shells, script: Script) -> bool:
    new = shells.keep(read_table(), {script.pid: script.children()})
    wait_for_state(script.pid, "stopped")
    return new


def test_the_next_stage_never_begins_and_the_shell_ends_as_its_stage_did(shells: Shells, script: Script) -> None:
    assert keep(shells, script)
    shells.step(read_table(), 0.0)
    assert not shells.is_ended(script.pid), "its stage is still there"
    script.end_stage(signal.SIGUSR1)
    shells.step(read_table(), 1.0)
    assert script.process.wait() == -signal.SIGTERM
    assert shells.is_ended(script.pid)
    assert shells.end_of_stage(script.pid) == signal.SIGUSR1
    assert not script.next.exists()


@pytest.mark.parametrize("script", ["sleep 600 & sleep 601 & wait; sleep 600"], indirect=True)
def test_of_several_children_the_first_that_failed_is_the_status(shells: Shells, script: Script) -> None:
    wait_for("both", lambda: len(script.children()) == 2)
    keep(shells, script)
    first, second = sorted(script.children())
    os.kill(second, signal.SIGKILL)
    wait_for_state(second, "ended")
    shells.step(read_table(), 0.0)
    assert not shells.is_ended(script.pid), "the other one is still there"
    os.kill(first, signal.SIGTERM)
    wait_for_state(first, "ended")
    shells.step(read_table(), 0.0)
    assert shells.end_of_stage(script.pid) in (signal.SIGTERM, signal.SIGKILL)


def test_a_shell_is_kept_once(shells: Shells, script: Script) -> None:
    assert keep(shells, script)
    assert not keep(shells, script)
    assert not shells.keep({}, {2**22 + 1: []}), "one that is gone is none"


@pytest.mark.parametrize("script", ["text=$(sleep 600; echo x)"], indirect=True)
def test_a_shell_that_reads_what_its_children_print_goes_on_until_they_have_left(
    shells: Shells, script: Script
) -> None:
    assert shells.keep(read_table(), {script.pid: script.children()})
    assert state_of(script.pid) == "alive"
    shells.end(script.pid, 0.0)
    assert shells.is_ended(script.pid), "it got SIGTERM"


@pytest.mark.parametrize("script", ["trap '' TERM; sleep 600"], indirect=True)
def test_a_shell_that_ignores_its_end_is_killed(shells: Shells, script: Script) -> None:
    keep(shells, script)
    script.end_stage(signal.SIGKILL)
    shells.step(read_table(), 0.0)
    assert script.process.wait() == -signal.SIGKILL
    assert not script.next.exists()


@pytest.mark.parametrize("script", ["trap 'echo > \"$CLEANED\"' EXIT; sleep 600"], indirect=True)
def test_a_shell_with_an_exit_trap_may_clean_up(shells: Shells, script: Script) -> None:
    keep(shells, script)
    assert not shells.is_cleaning_up(script.pid)
    script.end_stage()
    shells.step(read_table(), 0.0)
    assert shells.is_cleaning_up(script.pid)
    script.process.wait()
    assert script.cleaned.exists()
    assert not script.next.exists()


@pytest.mark.parametrize("script", ["trap 'true' TERM; sleep 600; while true; do sleep 600; done"], indirect=True)
def test_a_shell_that_goes_on_after_its_end_is_killed_after_the_wait(shells: Shells, script: Script) -> None:
    keep(shells, script)
    script.end_stage(signal.SIGKILL)
    shells.step(read_table(), 10.0)
    table = read_table()
    shells.step(table, 10.0 + WAIT_S - 0.1)
    assert script.process.poll() is None
    shells.step(read_table(), 10.0 + WAIT_S)
    assert script.process.wait() == -signal.SIGKILL


def test_another_process_with_the_pid_of_a_shell_is_left_alone(shells: Shells, script: Script) -> None:
    table = read_table()
    earlier: dict[int, Process] = {**table, script.pid: a_process(script.pid, start=table[script.pid].start - 1)}
    shells.keep(earlier, {script.pid: []})
    wait_for_state(script.pid, "stopped")
    shells.step(read_table(), time.monotonic())
    assert not shells.is_ended(script.pid)


def test_another_process_with_the_pid_of_a_child_does_not_keep_the_shell(shells: Shells, script: Script) -> None:
    keep(shells, script)
    table = read_table()
    table[script.stage] = a_process(script.stage, script.pid, start=table[script.stage].start + 1)
    shells.step(table, 0.0)
    assert script.process.wait() == -signal.SIGTERM


def test_a_launcher_in_between_may_be_stood_for(shells: Shells, script: Script) -> None:
    keep(shells, script)
    shells.stand_for(script.stage, signal.SIGHUP)
    script.end_stage(signal.SIGKILL)
    shells.step(read_table(), 0.0)
    assert shells.end_of_stage(script.pid) == signal.SIGHUP


def test_a_shell_that_was_not_kept_can_be_ended(shells: Shells, script: Script) -> None:
    shells.end(script.pid, 3.0)
    assert script.process.wait() == -signal.SIGTERM
    assert shells.is_ended(script.pid)
    assert shells.end_of_stage(script.pid) is None, "what it waited for is not known"
    shells.end(2**22 + 1, 3.0)
    assert not shells.is_ended(2**22 + 1)
