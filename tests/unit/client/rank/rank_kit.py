"""What the tests of a rank's parts share: processes that need not exist, a spec, children, signals that are noted."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hai_client.linux.processes import Process, read_process
from hai_client.rank.starting.spec import Spec
from kit.waiting import wait_for


def a_process(pid: int, parent: int = 1, *, start: int = 100, state: str = "S") -> Process:
    """A process as its line in /proc describes it."""
    fields = [state, str(parent), *["0"] * 17, str(start), *["0"] * 30]
    return Process(pid, f"{pid} (a) b) {' '.join(fields)}".encode())


def a_table(*processes: Process) -> dict[int, Process]:
    """The processes by pid."""
    return {process.pid: process for process in processes}


def a_spec(folder: Path, **changes: Any) -> Spec:
    """The spec of rank 0 of run 41.2."""
    data = {
        "schema": 1, "run_id": "41.2", "rank": 0, "command": ["true"], "cwd": str(folder), "profile": "auto",
        "env": {}, "api_url": "http://127.0.0.1:1",
    }  # fmt: skip
    return Spec(str(folder), {**data, **changes})


class FakeMasks:
    """The signals of a process that need not exist."""

    def __init__(self, caught: set[int], ignored: set[int], *, exit_trap: bool = False) -> None:
        self._caught, self._ignored, self.has_exit_trap = caught, ignored, exit_trap

    def catches(self, number: int) -> bool:
        return number in self._caught

    def ignores(self, number: int) -> bool:
        return number in self._ignored

    def traps(self, number: int) -> bool:
        return number in self._caught and not self.has_exit_trap


def masks_of(caught: Mapping[int, set[int]]) -> Any:
    """A stand-in of `read_masks`: the signals that each process catches, by its pid."""
    return lambda pid: FakeMasks(caught.get(pid, set()), set())


def note_signals(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[tuple[int, int]]:
    """Let a module send nothing; returns the list of pids and signals that it would have sent."""
    sent: list[tuple[int, int]] = []

    def send(pid: int, number: int) -> bool:
        sent.append((pid, number))
        return True

    monkeypatch.setattr(module, "send", send)
    return sent


def state_of(pid: int) -> str:
    """`gone`, `ended` (a zombie), `stopped` or `alive`."""
    process = read_process(pid)
    if process is None:
        return "gone"
    return "ended" if process.zombie else "stopped" if process.stopped else "alive"


def wait_for_state(pid: int, state: str) -> None:
    """Wait until a process is in this state."""
    wait_for(f"process {pid} to be {state}", lambda: state_of(pid), met=lambda found: found == state)


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a child and all that it has started, if its session is its own, and collect it."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    if process.poll() is None:
        process.kill()
    process.wait()
