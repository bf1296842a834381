"""A process that is started again: when, how soon, and when no more."""

from __future__ import annotations

import errno
import signal
from pathlib import Path
from typing import Any

import pytest

from hai_hub.shared.errors import UpError
from hai_hub.up.restarter import LIMIT, REFUSALS, Restarter, Restarts


class Process:
    """A process that ends when the test says so."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def poll(self) -> int | None:
        return self.status


class Kept:
    """A restarter, its clock, its processes and whether they answer."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.answers = False
        self.log = folder / "it.log"
        self.started: list[Process] = []
        self.no_room = False
        self.restarter = Restarter(
            "it", start=self._start, answers=lambda: self.answers, log=self.log, clock=lambda: self.now, **more
        )
        self.restarter.begin()

    def _start(self) -> Any:
        if self.no_room:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        self.started.append(Process(len(self.started) + 1))
        return self.started[-1]

    def end(self, status: int) -> None:
        self.started[-1].status = status
        self.restarter.tend()

    def end_and_wait(self, status: int, times: int) -> None:
        """End the process `times` times, each time as soon as it runs again; `waits` gets the seconds until it did."""
        for _ in range(times):
            before, began = len(self.started), self.now
            self.end(status)
            while len(self.started) == before:
                self.now += 0.25
                self.restarter.tend()
            self.waits.append(self.now - began)

    def be_up(self) -> None:
        self.answers = True
        self.restarter.tend()
        assert self.restarter.up
        self.answers = False


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_after_an_accident_it_is_started_again_at_once_however_often(kept: Kept) -> None:
    for number in range(1, 3 * LIMIT):
        kept.be_up()
        kept.end(-signal.SIGKILL)
        assert len(kept.started) == number + 1
        assert kept.restarter.runs
        assert not kept.restarter.up, "the new one has not answered yet"


def test_one_that_dies_while_it_starts_is_started_later_and_later_and_then_given_up(kept: Kept) -> None:
    with pytest.raises(UpError) as given_up:
        kept.end_and_wait(-signal.SIGKILL, LIMIT)
    assert kept.waits == [0.0, 0.5, 1.0, 2.0]
    assert given_up.value.exit_code == 1
    assert f"ended by SIGKILL, {LIMIT} times in a row" in str(given_up.value)


def test_what_refuses_to_start_is_asked_once_more(kept: Kept) -> None:
    kept.log.write_text("no such spawner\n")
    with pytest.raises(UpError):
        kept.end_and_wait(1, REFUSALS)
    assert len(kept.started) == REFUSALS


def test_the_end_of_the_log_is_of_the_last_start(kept: Kept) -> None:
    kept.log.write_text("of the first\n")
    kept.end(1)
    with kept.log.open("a") as log:
        log.write("of the second\n")
    with pytest.raises(UpError) as given_up:
        kept.end(1)
    assert given_up.value.detail == "of the second"


def test_what_has_been_up_may_refuse_for_a_while(kept: Kept) -> None:
    """A database that is locked, a disk that is full."""
    kept.be_up()
    for _ in range(LIMIT - 1):
        kept.end(1)
        kept.now += 60
        kept.restarter.tend()
    assert kept.restarter.runs
    kept.be_up()
    assert kept.restarter.restarts == Restarts(ever_answered=True, in_a_row=0)


def test_what_is_always_restarted_is_never_given_up_once_it_has_been_up(tmp_path: Path) -> None:
    kept = Kept(tmp_path, forever=True)
    kept.be_up()
    for number in range(1, 4 * LIMIT):
        kept.end(2)
        kept.now += 5
        kept.restarter.tend()
        assert len(kept.started) == number + 1


def test_a_reason_in_its_own_words_ends_it_at_once(tmp_path: Path) -> None:
    kept = Kept(tmp_path, says_why=True, forever=True)
    kept.log.write_text("some noise\nnodes: 7 is one too many; take 6\n")
    with pytest.raises(UpError) as refused:
        kept.end(2)
    assert (str(refused.value), refused.value.exit_code) == ("nodes: 7 is one too many; take 6", 2)


def test_a_machine_without_room_for_a_process_has_it_later(kept: Kept) -> None:
    kept.be_up()
    kept.no_room = True
    kept.end(-signal.SIGKILL)
    assert not kept.restarter.runs
    kept.restarter.tend()
    kept.no_room = False
    kept.restarter.tend()
    assert len(kept.started) == 1, "not before its time"
    kept.now += 0.5
    kept.restarter.tend()
    assert len(kept.started) == 2
    assert kept.restarter.runs


def test_a_machine_that_never_has_room_is_told(kept: Kept) -> None:
    kept.be_up()
    kept.no_room = True
    kept.end(-signal.SIGKILL)
    for _ in range(LIMIT - 2):
        kept.now += 10
        kept.restarter.tend()
    kept.now += 10
    with pytest.raises(UpError, match="it cannot be started: Resource temporarily unavailable"):
        kept.restarter.tend()
