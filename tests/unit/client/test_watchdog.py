"""The watchdog ends a process without progress, and no other."""

from __future__ import annotations

import threading

import pytest

from hai_client import watchdog
from hai_client.watchdog import STATUS, Watchdog


class Process:
    """Stands for the process: what it wrote, and the status with which it was ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ended = threading.Event()
        self.status: int | None = None
        self.wrote = b""
        monkeypatch.setattr(watchdog.os, "write", self._write)
        monkeypatch.setattr(watchdog.os, "_exit", self._exit)
        monkeypatch.setattr(watchdog.faulthandler, "dump_traceback", lambda **_: None)
        monkeypatch.setattr(watchdog, "_LONGEST_S", 0.001)

    def _write(self, fd: int, data: bytes) -> int:
        assert fd == 2
        self.wrote += data
        return len(data)

    def _exit(self, status: int) -> None:
        self.status = status
        self.ended.set()


def test_a_process_without_progress_is_ended_with_a_status_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(monkeypatch)
    guard = Watchdog(60, progress_at=lambda: 100.0, clock=lambda: 161.0)
    guard.start()
    assert process.ended.wait(30)
    guard.stop()
    guard._thread.join(30)
    assert process.status == STATUS
    assert b"no progress for 61 s" in process.wrote
    assert b"60 s are allowed" in process.wrote


@pytest.mark.parametrize("silent", [0.0, 59.9])
def test_a_process_with_progress_goes_on_until_the_watchdog_is_stopped(
    monkeypatch: pytest.MonkeyPatch, silent: float
) -> None:
    process = Process(monkeypatch)
    looks = threading.Semaphore(0)

    def progress_at() -> float:
        looks.release()
        return 1000.0 - silent

    guard = Watchdog(60, progress_at, clock=lambda: 1000.0)
    guard.start()
    for _ in range(3):
        assert looks.acquire(timeout=30)
    guard.stop()
    guard._thread.join(30)
    assert (guard._thread.is_alive(), process.status, process.wrote) == (False, None, b"")
