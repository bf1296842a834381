"""Listeners wake when a supervisor ends, when a status changes, and when they are told; and not otherwise."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hai_scheduler.adapters.local import change_watch as module
from hai_scheduler.adapters.local.change_watch import ChangeWatch
from hai_scheduler.ports.errors import Temporary
from kit.waiting import until


class Rank:
    """A live rank: its supervisor, and when its status has changed."""

    def __init__(self, name: str, supervisor: int | None = None) -> None:
        self.supervisor = supervisor
        self.status = 0
        self.reaped = 0
        self.folder = SimpleNamespace(path=Path(name), changed_at=lambda: self.status)

    def reap(self) -> None:
        self.reaped += 1


class Runs:
    """The known runs."""

    def __init__(self, *ranks: Rank) -> None:
        self.ranks = list(ranks)
        self.trouble: Exception | None = None
        self.looks = 0

    async def load(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    def live(self) -> Iterator[Rank]:
        self.looks += 1
        yield from self.ranks


def watch_of(*ranks: Rank) -> tuple[ChangeWatch, Any]:
    runs: Any = Runs(*ranks)
    return ChangeWatch(runs), runs


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends when its input does."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


async def begun(changes: AsyncIterator[None]) -> asyncio.Future[None]:
    """The next change; the listener has taken its first look."""
    following = asyncio.ensure_future(anext(changes))
    for _ in range(3):
        await asyncio.sleep(0)
    return following


async def test_a_listener_wakes_once_for_each_time_it_is_told() -> None:
    watch, _ = watch_of()
    changes = watch.changes()
    for _ in range(2):
        following = await begun(changes)
        assert not following.done()
        watch.wake()
        watch.wake()
        await following


async def test_every_listener_wakes() -> None:
    watch, _ = watch_of()
    both = [await begun(watch.changes()) for _ in range(2)]
    watch.wake()
    await asyncio.gather(*both)


async def test_a_status_that_changes_is_noticed_and_one_that_does_not_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.001)
    rank = Rank("a")
    watch, runs = watch_of(rank)
    following = await begun(watch.changes())
    await until("further looks", lambda: runs.looks > 4)
    assert not following.done()
    rank.status = 7
    await following


async def test_a_rank_that_is_there_for_the_first_time_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.001)
    watch, runs = watch_of(Rank("a"))
    following = await begun(watch.changes())
    runs.ranks.append(Rank("b"))
    await following


async def test_without_live_ranks_nothing_is_looked_at_until_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []
    real = asyncio.timeout
    monkeypatch.setattr(module.asyncio, "timeout", lambda seconds: (waits.append(seconds), real(seconds))[1])
    watch, runs = watch_of()
    changes = watch.changes()
    following = await begun(changes)
    runs.ranks.append(Rank("a"))
    watch.wake()
    await following
    await begun(changes)
    assert waits == [None, module.LOOK_EVERY_S]


async def test_the_end_of_a_supervisor_wakes_at_once_and_leaves_no_handle(process: subprocess.Popen[bytes]) -> None:
    rank = Rank("a", process.pid)
    watch, _ = watch_of()
    watch.follow([rank, rank])
    following = await begun(watch.changes())
    assert not following.done()
    assert process.stdin is not None
    process.stdin.close()
    await asyncio.wait_for(following, 60)
    assert (rank.reaped, watch._handles) == (1, {})


async def test_a_supervisor_that_is_not_there_any_more_is_not_followed(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    watch, _ = watch_of()
    watch.follow([Rank("a", process.pid), Rank("b", None)])
    assert watch._handles == {}


async def test_closing_closes_the_handles_and_leaves_the_supervisors(process: subprocess.Popen[bytes]) -> None:
    watch, _ = watch_of()
    watch.follow([Rank("a", process.pid)])
    (handle,) = watch._handles.values()
    watch.follow([Rank("a", process.pid)])
    assert list(watch._handles.values()) == [handle], "one handle is enough"
    watch.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)
    assert process.poll() is None
    watch.close()


async def test_a_listener_that_goes_leaves_nothing() -> None:
    watch, runs = watch_of()
    changes = watch.changes()
    following = await begun(changes)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert watch._listeners == set()
    runs.trouble = Temporary("the folder cannot be read")
    with pytest.raises(Temporary):
        await anext(watch.changes())
    assert watch._listeners == set()
