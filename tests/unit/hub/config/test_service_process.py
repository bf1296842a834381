"""How a Hub learns of the end of a service that it looks after."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hai_hub.config.service_process import _WatchedServiceSpawner

SLEEP = "import signal; signal.pause()"


def spawner(monkeypatch: pytest.MonkeyPatch) -> Any:
    """One that never looks by itself within the time of a test."""
    # A configuration that was installed in this process has set it.
    monkeypatch.setattr(_WatchedServiceSpawner, "log_files", {})
    made = _WatchedServiceSpawner(cmd=[sys.executable, "-c", SLEEP], poll_interval=1000)
    monkeypatch.setattr(made, "get_env", lambda: dict(os.environ))
    made.user = SimpleNamespace(name="")
    return made


async def test_the_end_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, told = spawner(monkeypatch), asyncio.Event()
    made.start()
    made.add_poll_callback(told.set)
    made.start_polling()
    made._began -= made.poll_interval
    os.kill(made.pid, signal.SIGKILL)
    async with asyncio.timeout(60):
        await told.wait()
    assert made._handle is None


async def test_one_that_ends_as_soon_as_it_starts_is_left_to_the_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would be started without any rest."""
    made, told, ended = spawner(monkeypatch), asyncio.Event(), asyncio.Event()
    made.start()
    made.add_poll_callback(told.set)
    original = made._ended
    monkeypatch.setattr(made, "_ended", lambda: (original(), ended.set()))
    made.start_polling()
    os.kill(made.pid, signal.SIGKILL)
    async with asyncio.timeout(60):
        await ended.wait()
    assert not told.is_set()
    await made.poll_and_notify()
    assert told.is_set()
    made.stop_polling()


async def test_the_end_of_one_that_is_stopped_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    made, told = spawner(monkeypatch), asyncio.Event()
    made.start()
    made.add_poll_callback(told.set)
    made.start_polling()
    made._began -= made.poll_interval
    made.stop_polling()
    await made.stop()
    assert made.proc.returncode is not None
    assert not told.is_set()
