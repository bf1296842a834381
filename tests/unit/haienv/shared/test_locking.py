"""The lock of an environment: one process at a time, with a word on who has it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from haienv.shared import locking
from haienv.shared.errors import Busy
from haienv.shared.locking import EVERY_S, Replaced, building, who

UNKNOWN = "another process changes this environment"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "build.lock"


@contextlib.contextmanager
def held(path: Path, user: str = "ann", wait_s: float | None = 0.0) -> Iterator[list[str]]:
    """Hold the lock; yields what was said while it was waited for. Each call opens the file, as a process does."""
    said: list[str] = []
    with building(path, f"install of {user}", user=user, wait_s=wait_s, say=said.append):
        yield said


class Clock:
    """Time that passes only while somebody sleeps; `then` is done after a number of sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.slept = 0.0, 0
        self.then: dict[int, contextlib.ExitStack] = {}
        # Of the module alone: threads of other tests may sleep, too.
        monkeypatch.setattr(locking, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep))

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1
        if self.slept in self.then:
            self.then[self.slept].close()
        assert self.slept < 1000, "it waits without end"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_second_one_is_told_who_builds(path: Path) -> None:
    with held(path), pytest.raises(Busy) as caught, held(path, "bob"):
        raise AssertionError("both have it")
    facts = str(caught.value)
    assert facts.startswith(f"ann on {os.uname().nodename} (process {os.getpid()}) does `install of ann` since 2")
    assert facts.endswith("; try again when that has ended, or without --no-wait")


def test_it_is_free_afterwards_also_after_an_error(path: Path) -> None:
    with contextlib.suppress(ValueError), held(path):
        raise ValueError
    with held(path, "bob") as said:
        assert json.loads(path.read_text())["user"] == "bob"
    assert said == []
    assert path.read_bytes() == b"", "nobody is said to have it"


def test_one_that_waits_says_so_once_and_goes_on_when_it_is_free(path: Path, clock: Clock) -> None:
    first = contextlib.ExitStack()
    first.enter_context(held(path))
    clock.then[3] = first
    with held(path, "bob", wait_s=None) as said:
        assert clock.slept == 3
    [line] = said
    assert line.startswith("ann on ")
    assert line.endswith("; waiting")


def test_a_wait_ends_after_its_time(path: Path, clock: Clock) -> None:
    with held(path), pytest.raises(Busy), held(path, "bob", wait_s=10.0):
        raise AssertionError("both have it")
    assert clock.now == pytest.approx(10.0, abs=EVERY_S)


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_what_was_removed_or_replaced_meanwhile_is_no_lock(path: Path, clock: Clock, how: str) -> None:
    first = contextlib.ExitStack()
    first.enter_context(held(path))

    def vanish() -> None:
        path.rename(path.with_name("old"))
        if how == "replaced":
            path.touch()

    first.callback(vanish)
    clock.then[1] = first
    with pytest.raises(Replaced), held(path, "bob", wait_s=None):
        raise AssertionError("it holds nothing")
    path.touch()
    with held(path):
        pass


def test_on_a_full_disk_nobody_is_told_and_the_lock_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(locking.os, "pwrite", full)
    with held(path), pytest.raises(Busy, match=UNKNOWN), held(path, "bob"):
        raise AssertionError("both have it")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"null", b"\xff", b'{"user": "ann"'])
def test_a_file_that_says_nothing_of_use_names_nobody(path: Path, content: bytes) -> None:
    assert who(path) == UNKNOWN
    path.write_bytes(content)
    assert who(path) == UNKNOWN
