"""New processes of a watched shell, held by the kernel before their first instruction, with real shells."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_client.linux.processes import children_of, read_table
from hai_client.rank.notices.births import Births
from kit.waiting import wait_for
from unit.client.rank.rank_kit import end, state_of, wait_for_state

GONE = 2**22 + 1


class Shell:
    """A shell that waits for a line before it goes on; a birth makes the file `born`."""

    def __init__(self, folder: Path, text: str) -> None:
        self.born = folder / "born"
        self.process = subprocess.Popen(
            ["bash", "-c", "echo; read line; " + text.replace("BORN", str(self.born))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.pid = self.process.pid
        assert self.process.stdout is not None
        # It has set its traps, and waits for the line.
        self.process.stdout.readline()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()


@pytest.fixture
def births() -> Births:
    return Births()


@pytest.fixture
def shell(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shell]:
    made = Shell(tmp_path, getattr(request, "param", "touch BORN; exit 3"))
    yield made
    end(made.process)


def stop_of(pid: int) -> int:
    """The status of the next stop of a traced process."""
    found, status = os.waitpid(pid, 0)
    assert (found, os.WIFSTOPPED(status)) == (pid, True)
    return status


def collect(newborn: int) -> None:
    """Collect a killed process that is traced from here, as the supervisor does: its parent hears of its end then."""
    assert os.waitpid(newborn, 0) == (newborn, signal.SIGKILL)


def until_birth(births: Births, shell: Shell) -> int:
    """Let the shell go on until it has started a process; returns that one's pid."""
    shell.go_on()
    while not births.held:
        births.take(shell.pid, stop_of(shell.pid))
    [newborn] = births.held
    births.take(newborn, stop_of(newborn))
    return newborn


def test_what_a_watched_shell_starts_waits_with_the_shell(births: Births, shell: Shell) -> None:
    assert births.watch(shell.pid)
    assert (births.watches(shell.pid), births.watched) == (True, [shell.pid])
    assert not births.watch(shell.pid), "it is watched already"
    newborn = until_birth(births, shell)
    assert list(births.waiting) == [(shell.pid, newborn)]
    assert (state_of(shell.pid), state_of(newborn)) == ("stopped", "stopped")
    assert not shell.born.exists()


def test_a_held_process_that_is_ended_has_never_begun_and_the_shell_goes_on(births: Births, shell: Shell) -> None:
    births.watch(shell.pid)
    newborn = until_birth(births, shell)
    births.end(shell.pid)
    collect(newborn)
    assert shell.process.wait() == 3
    assert not shell.born.exists()
    assert (births.watched, births.held, list(births.waiting)) == ([], set(), [])


@pytest.mark.parametrize("shell", ["exec touch BORN"], indirect=True)
@pytest.mark.parametrize("allowed", [True, False])
def test_a_shell_that_becomes_another_program_waits_for_a_decision(
    births: Births, shell: Shell, *, allowed: bool
) -> None:
    births.watch(shell.pid)
    shell.go_on()
    while not list(births.waiting):
        births.take(shell.pid, stop_of(shell.pid))
    assert list(births.waiting) == [(shell.pid, shell.pid)]
    (births.allow if allowed else births.end)(shell.pid)
    assert shell.process.wait() == (0 if allowed else -signal.SIGTERM)
    assert shell.born.exists() is allowed
    assert births.watched == []


@pytest.mark.parametrize("shell", ["trap '' TERM; exec touch BORN"], indirect=True)
def test_a_program_that_ignores_sigterm_dies_before_it_begins_too(births: Births, shell: Shell) -> None:
    births.watch(shell.pid)
    shell.go_on()
    while not list(births.waiting):
        births.take(shell.pid, stop_of(shell.pid))
    births.end(shell.pid)
    assert shell.process.wait() == -signal.SIGKILL
    assert not shell.born.exists()


@pytest.mark.parametrize("shell", ["exit 3"], indirect=True)
def test_builtins_of_a_watched_shell_run(births: Births, shell: Shell) -> None:
    births.watch(shell.pid)
    shell.go_on()
    assert shell.process.wait() == 3


@pytest.mark.parametrize("shell", ["exit 3"], indirect=True)
def test_signals_reach_a_watched_shell(births: Births, shell: Shell) -> None:
    births.watch(shell.pid)
    os.kill(shell.pid, signal.SIGUSR1)
    births.take(shell.pid, stop_of(shell.pid))
    assert shell.process.wait() == -signal.SIGUSR1


@pytest.mark.parametrize("shell", ["exit 3"], indirect=True)
def test_a_watched_shell_can_be_stopped_and_goes_on_with_sigcont(births: Births, shell: Shell) -> None:
    births.watch(shell.pid)
    os.kill(shell.pid, signal.SIGSTOP)
    # One stop for the signal, one for the group.
    births.take(shell.pid, stop_of(shell.pid))
    births.take(shell.pid, stop_of(shell.pid))
    wait_for_state(shell.pid, "stopped")
    shell.go_on()
    os.kill(shell.pid, signal.SIGCONT)
    status = os.waitpid(shell.pid, 0)[1]
    while os.WIFSTOPPED(status):
        births.take(shell.pid, status)
        status = os.waitpid(shell.pid, 0)[1]
    assert os.WEXITSTATUS(status) == 3


def test_a_shell_that_was_sent_its_end_is_watched_no_more_from_its_next_stop_on(births: Births, shell: Shell) -> None:
    births.watch(shell.pid)
    births.end(shell.pid)
    assert births.watches(shell.pid)
    os.kill(shell.pid, signal.SIGTERM)
    births.take(shell.pid, stop_of(shell.pid))
    assert not births.watches(shell.pid)
    assert shell.process.wait() == -signal.SIGTERM


def test_what_it_starts_instead_never_begins(births: Births, shell: Shell) -> None:
    births.watch(shell.pid)
    births.end_all()
    shell.go_on()
    newborns: list[int] = []
    while births.watches(shell.pid):
        status = stop_of(shell.pid)
        newborns = children_of(read_table()).get(shell.pid, [])
        births.take(shell.pid, status)
    collect(*newborns)
    assert shell.process.wait() == 3
    assert not shell.born.exists()


def test_what_a_killed_shell_has_started_is_killed_before_it_begins(births: Births, shell: Shell) -> None:
    births.watch(shell.pid)
    newborn = until_birth(births, shell)
    shell.process.kill()
    shell.process.wait()
    births.forget(read_table())
    # It is no child of this process, which traces it and so is told of its end.
    wait_for("its end", lambda: os.waitpid(newborn, os.WNOHANG)[0] == newborn)
    assert not shell.born.exists()
    births.forget({})
    assert (births.watched, births.held, list(births.waiting)) == ([], set(), [])


def test_one_that_cannot_be_watched_is_asked_for_once(births: Births) -> None:
    assert not births.watch(GONE)
    assert not births.watch(GONE)
    assert not births.watches(GONE)


def test_a_shell_is_watched_by_one_alone(births: Births, shell: Shell) -> None:
    assert births.watch(shell.pid)
    assert not Births().watch(shell.pid)


def test_calls_for_processes_that_are_not_watched_change_nothing(births: Births, shell: Shell) -> None:
    births.end(shell.pid)
    births.allow(shell.pid)
    births.end_all()
    shell.go_on()
    assert shell.process.wait() == 3
    assert shell.born.exists()
