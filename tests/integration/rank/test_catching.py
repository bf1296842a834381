"""Which signals real processes handle: by a handler, by waiting for them, by a descriptor, or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from hai_client.linux.catching import best_signal, read_masks

SIGWAIT = """
import signal, sys
wanted = {signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print("ready", flush=True)
number = signal.sigwait(wanted)
sys.exit(40 + number)
"""
SIGWAIT_IN_A_THREAD = """
import os, signal, threading
wanted = {signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
def wait():
    print("ready", flush=True)
    os._exit(40 + signal.sigwait(wanted))
threading.Thread(target=wait).start()
threading.Event().wait()
"""
SIGNALFD = """
import ctypes, os, signal, sys
wanted = {signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.signalfd(-1, (1 << signal.SIGTERM - 1).to_bytes(128, sys.byteorder), 0)
assert fd >= 0, ctypes.get_errno()
print("ready", flush=True)
sys.exit(40 + int.from_bytes(os.read(fd, 128)[:4], sys.byteorder))
"""
HANDLER = """
import signal, sys
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(40 + number))
print("ready", flush=True)
while True:
    signal.pause()
"""
NOTHING = """
import signal
print("ready", flush=True)
signal.pause()
"""
#: Blocked by the main thread alone: the kernel hands the signal to the other thread, and that ends the process.
BLOCKED_BY_ONE_OF_TWO = """
import signal, threading
threading.Thread(target=threading.Event().wait).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("ready", flush=True)
signal.pause()
"""
HANDLED = [SIGWAIT, SIGWAIT_IN_A_THREAD, SIGNALFD, HANDLER]
NOT_HANDLED = [NOTHING, BLOCKED_BY_ONE_OF_TWO]


@pytest.fixture
def started() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []

    def start(code: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def eventually(seen: Callable[[], bool]) -> bool:
    """Whether it is so within 20 s: a process says that it is ready just before it begins to wait."""
    end = time.monotonic() + 20
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def waits(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 -- of /proc
        return file.read().rsplit(b")", 1)[1].split()[0] == b"S"


@pytest.mark.parametrize("code", HANDLED, ids=["sigwait", "sigwait in a thread", "signalfd", "handler"])
def test_a_signal_that_a_process_handles_in_any_way_is_found_and_does_not_end_it(
    started: Callable[[str], subprocess.Popen[str]], code: str
) -> None:
    process = started(code)
    assert eventually(lambda: waits(process.pid) and best_signal(process.pid) == signal.SIGTERM)
    masks = read_masks(process.pid)
    assert not masks.catches(signal.SIGUSR1)
    assert not masks.ignores(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 40 + signal.SIGTERM


@pytest.mark.parametrize("code", NOT_HANDLED, ids=["nothing", "blocked by one of two threads"])
def test_a_signal_that_would_end_a_process_is_not_taken_for_handled(
    started: Callable[[str], subprocess.Popen[str]], code: str
) -> None:
    process = started(code)
    assert eventually(lambda: waits(process.pid))
    assert best_signal(process.pid) is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == -signal.SIGTERM


def test_a_process_that_is_gone_catches_nothing(started: Callable[[str], subprocess.Popen[str]]) -> None:
    process = started(SIGWAIT)
    process.kill()
    process.wait()
    assert best_signal(process.pid) is None
