"""Stacks of real processes: printed by those that catch a named signal, and no other process is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_client.rank.profiling import stacks
from hai_client.rank.profiling.stacks import kernel_words, read_stacks
from kit.waiting import wait_for

REGISTERS = """
import faulthandler, signal, sys, time
faulthandler.register(signal.SIGUSR2, all_threads=True, file=sys.stdout)
def hangs():
    print("ready", flush=True)
    time.sleep(600)
hangs()
"""
PLAIN = "import time; print('ready', flush=True); time.sleep(600)"


class Child:
    """A program of Python whose output is collected."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        self._pieces: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        wait_for("the program to begin", lambda: b"ready" in b"".join(self._pieces))

    def _read(self) -> None:
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 4096):
            self._pieces.append(data)

    def end(self) -> None:
        """Kill it."""
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()

    def printed(self) -> bytes:
        data, self._pieces = b"".join(self._pieces), []
        return data


@pytest.fixture
def child(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    made = Child(request.param)
    monkeypatch.setattr(stacks, "descendants", lambda *_: [made.process.pid])
    monkeypatch.setattr(stacks, "_program", lambda _: None)
    yield made
    made.end()


@pytest.mark.parametrize("child", [REGISTERS], indirect=True)
@pytest.mark.parametrize("name", ["USR2", "SIGUSR2", "usr2"])
def test_a_process_prints_its_stacks_on_the_signal_that_its_task_names(child: Child, name: str) -> None:
    body = read_stacks({"HAI_STACKS_SIGNAL": name}, None, child.printed)
    assert (body["state"], body["message"]) == ("done", None)
    [stack] = body["stacks"]
    assert (stack["how"], stack["pid"]) == ("faulthandler", child.process.pid)
    assert "in hangs" in stack["text"]
    assert "ready" not in stack["text"]
    assert "main thread sleeps" in stack["kernel"]
    assert child.process.poll() is None


@pytest.mark.parametrize(
    ("child", "environment", "words"),
    [
        (PLAIN, {"HAI_STACKS_SIGNAL": "USR2"}, "does not catch SIGUSR2"),
        (PLAIN, {}, "names no signal"),
        (PLAIN, {"HAI_STACKS_SIGNAL": "KILL"}, "may be one of USR1"),
        (REGISTERS, {}, "names no signal"),
        (REGISTERS, {"HAI_STACKS_SIGNAL": "USR1"}, "does not catch SIGUSR1"),
    ],
    indirect=["child"],
)
def test_a_process_that_is_not_asked_for_it_gets_no_signal(
    child: Child, environment: dict[str, str], words: str
) -> None:
    body = read_stacks(environment, None, child.printed)
    [stack] = body["stacks"]
    assert (body["state"], stack["how"], stack["text"]) == ("done", None, "")
    assert words in body["message"]
    assert "py-spy is not installed" in body["message"]
    assert child.printed() == b"" or child.process.poll() is None
    assert child.process.poll() is None


@pytest.mark.parametrize("child", [PLAIN], indirect=True)
@pytest.mark.parametrize(
    ("script", "how", "words"),
    [
        ("echo 'Thread 1 (idle)'", "py-spy", ""),
        ("echo 'not allowed' >&2; exit 1", None, "not allowed"),
    ],
)
def test_py_spy_is_asked_first(
    child: Child, script: str, how: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "py-spy"
    program.write_text(f"#!/bin/sh\n[ \"$1 $2 $3\" = 'dump --pid {child.process.pid}' ] || exit 9\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(stacks, "_program", lambda path: str(program) if path == str(tmp_path) else None)
    body = read_stacks({"PATH": str(tmp_path)}, None, child.printed)
    assert body["stacks"][0]["how"] == how
    assert words in (body["message"] or "")


def test_without_python_there_is_nothing_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "descendants", lambda *_: [])
    body = read_stacks({}, None, bytes)
    assert body == {"state": "failed", "message": "no process of Python runs in this rank"}


def test_the_kernel_says_what_a_process_does() -> None:
    assert "of " in kernel_words(os.getpid())
    assert kernel_words(2**22 + 1) == "it has ended"


def test_stacks_are_told_from_what_else_is_printed() -> None:
    text = 'step 1\nThread 0x7f (most recent call first):\n  File "a.py", line 1 in f\nstep 2\n  File not of a stack\n'
    assert stacks._of_faulthandler(text).splitlines() == text.splitlines()[1:3]


def test_no_allowed_signal_is_one_that_tells_a_job_to_leave() -> None:
    assert not {signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGSTOP} & set(stacks.ALLOWED.values())
