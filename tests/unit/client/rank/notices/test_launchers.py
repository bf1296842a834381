"""Launchers whose workers were ended: which are killed, when, and what their status counts as."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from hai_client.linux.processes import Process, read_table
from hai_client.rank.notices.launchers import HAND_ON_S, Launchers
from unit.client.rank.rank_kit import a_process, end, state_of, wait_for_state

Start = Callable[..., subprocess.Popen[bytes]]


class Parts:
    """What launchers are told to, and what they ask."""

    def __init__(self) -> None:
        self.stood_for: list[tuple[int, int]] = []
        self.writes: set[int] = set()
        self.launchers = Launchers(None, self, self)  # type: ignore[arg-type]

    def stand_for(self, pid: int, end: int) -> None:
        self.stood_for.append((pid, end))

    def writing(self, pids: Iterable[int]) -> bool:
        return bool(self.writes & set(pids))


@pytest.fixture
def parts() -> Parts:
    return Parts()


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def run(stdout: Any = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "600"], stdout=stdout, stderr=subprocess.DEVNULL)
        started.append(process)
        return process

    yield run
    for process in started:
        end(process)


@pytest.fixture
def pipe() -> Iterator[int]:
    """The end of a pipe that is written."""
    read_end, write_end = os.pipe()
    yield write_end
    os.close(read_end)
    os.close(write_end)


def test_a_launcher_that_hands_nothing_on_is_killed_at_once(parts: Parts, start: Start, pipe: int) -> None:
    launcher, worker = start(pipe), start(pipe)
    parts.launchers.note(read_table(), [launcher.pid], worker.pid)
    parts.launchers.step(0.0)
    assert launcher.wait() == -signal.SIGKILL
    assert parts.stood_for == [(launcher.pid, signal.SIGTERM)], "it counts as ended like its workers"
    assert state_of(worker.pid) == "alive", "its workers are left to others"


@pytest.mark.parametrize("worker_prints_to", [subprocess.PIPE, subprocess.DEVNULL], ids=["the launcher", "nowhere"])
def test_a_launcher_that_hands_on_what_its_workers_print_gets_a_moment(
    parts: Parts, start: Start, pipe: int, worker_prints_to: int
) -> None:
    launcher, worker = start(pipe), start(worker_prints_to)
    parts.launchers.note(read_table(), [launcher.pid], worker.pid)
    parts.launchers.step(0.0)
    parts.launchers.step(HAND_ON_S - 0.01)
    assert parts.stood_for == []
    assert state_of(launcher.pid) == "alive"
    parts.launchers.step(HAND_ON_S)
    assert launcher.wait() == -signal.SIGKILL
    assert parts.stood_for == [(launcher.pid, signal.SIGTERM)]


def test_one_worker_whose_output_it_hands_on_is_enough(parts: Parts, start: Start, pipe: int) -> None:
    launcher, beside, through = start(pipe), start(pipe), start(subprocess.PIPE)
    for worker in (through, beside):
        parts.launchers.note(read_table(), [launcher.pid], worker.pid)
    parts.launchers.step(0.0)
    assert parts.stood_for == []


def test_a_launcher_that_writes_a_checkpoint_is_left_until_it_has(parts: Parts, start: Start, pipe: int) -> None:
    launcher, worker = start(pipe), start(pipe)
    parts.launchers.note(read_table(), [launcher.pid], worker.pid)
    parts.writes = {launcher.pid}
    parts.launchers.step(0.0)
    assert parts.stood_for == []
    parts.writes = set()
    parts.launchers.step(1.0)
    assert parts.stood_for == [(launcher.pid, signal.SIGTERM)]


def test_another_process_with_the_pid_of_a_launcher_is_left_alone(parts: Parts, start: Start, pipe: int) -> None:
    other, worker = start(pipe), start(pipe)
    table = read_table()
    earlier: dict[int, Process] = {**table, other.pid: a_process(other.pid, start=table[other.pid].start - 1)}
    parts.launchers.note(earlier, [other.pid], worker.pid)
    parts.launchers.step(0.0)
    assert parts.stood_for == []
    assert state_of(other.pid) == "alive"


def test_a_launcher_that_is_gone_or_has_ended_has_its_own_status(parts: Parts, start: Start, pipe: int) -> None:
    launcher, worker = start(pipe), start(pipe)
    parts.launchers.note(read_table(), [launcher.pid, 2**22 + 1], worker.pid)
    launcher.kill()
    wait_for_state(launcher.pid, "ended")
    parts.launchers.step(0.0)
    launcher.wait()
    parts.launchers.step(1.0)
    assert parts.stood_for == []


def test_a_driver_always_gets_a_moment(parts: Parts, start: Start, pipe: int) -> None:
    driver = start(pipe)
    parts.launchers.note_driver(read_table(), driver.pid)
    parts.launchers.step(0.0)
    assert parts.stood_for == []
    parts.launchers.step(HAND_ON_S)
    assert parts.stood_for == [(driver.pid, signal.SIGTERM)]
