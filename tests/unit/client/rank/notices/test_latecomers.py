"""Processes that came after the notice: which of them are ended, and which are left."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from hai_client.linux.processes import Process
from hai_client.rank.notices import latecomers
from hai_client.rank.notices.latecomers import Latecomers
from hai_client.rank.notices.roster import Roster
from hai_client.rank.notices.workers import Workers
from unit.client.rank.rank_kit import a_process, a_table, note_signals

OUTER, INNER, OLD, NEW = 10, 11, 12, 13


class Scene:
    """A script in a shell in a shell: its last stage was a worker, its next one came after the notice."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.table: dict[int, Process] = a_table(
            a_process(OUTER), a_process(INNER, OUTER), a_process(OLD, INNER), a_process(NEW, INNER)
        )
        self.found = Workers()
        self.found.top = [NEW]
        self.found.above = {OLD: (OUTER, INNER), NEW: (OUTER, INNER)}
        self.roster = Roster(None)
        self.roster.note(self.table, [OLD])
        self.shells: set[int] = set()
        self.ended: set[int] = set()
        self.cleaning: set[int] = set()
        self.number: int | None = None
        self.done: list[Any] = []
        self.sent = note_signals(monkeypatch, latecomers)
        monkeypatch.setattr(latecomers, "is_shell", lambda pid: pid in self.shells)
        parts: Any = self
        self.late = Latecomers(parts, self.roster, parts, lambda: self.done.append("mark"))

    def signal_for(self, pid: int) -> int | None:
        return self.number

    def is_ended(self, pid: int) -> bool:
        return pid in self.ended

    def is_cleaning_up(self, pid: int) -> bool:
        return pid in self.cleaning

    def end(self, pid: int, now: float) -> None:
        self.ended.add(pid)
        self.done.append(("end", pid, now))

    def look(self, now: float = 5.0) -> None:
        self.late.end(self.table, self.found, now)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(monkeypatch)


def test_the_next_command_of_a_script_is_ended_with_its_shells_the_inner_one_first(scene: Scene) -> None:
    scene.look()
    assert scene.sent == [(OUTER, signal.SIGSTOP), (INNER, signal.SIGSTOP), (NEW, signal.SIGTERM)]
    assert scene.done == ["mark", ("end", INNER, 5.0), ("end", OUTER, 5.0)]


def test_it_is_ended_once(scene: Scene) -> None:
    scene.look()
    scene.sent.clear()
    scene.look()
    assert scene.sent == []
    assert scene.done.count("mark") == 1


def test_another_process_with_its_pid_is_ended_too(scene: Scene) -> None:
    scene.look()
    scene.sent.clear()
    scene.table[NEW] = a_process(NEW, INNER, start=500)
    scene.look()
    assert (NEW, signal.SIGTERM) in scene.sent


def test_a_shell_that_has_trapped_its_end_and_goes_on_is_killed(scene: Scene) -> None:
    scene.ended = {INNER}
    scene.look()
    assert (INNER, signal.SIGKILL) in scene.sent
    assert ("end", OUTER, 5.0) in scene.done


def test_of_a_pipe_all_are_ended_and_the_shell_once(scene: Scene) -> None:
    other = NEW + 1
    scene.table[other] = a_process(other, INNER)
    scene.found.top = [NEW, other]
    scene.found.above[other] = (OUTER, INNER)
    scene.look()
    assert [(pid, number) for pid, number in scene.sent if number == signal.SIGTERM] == [
        (NEW, signal.SIGTERM),
        (other, signal.SIGTERM),
    ]
    assert (INNER, signal.SIGKILL) not in scene.sent
    assert [what for what in scene.done if what != "mark"] == [("end", INNER, 5.0), ("end", OUTER, 5.0)]


def test_what_a_shell_has_become_is_its_next_command(scene: Scene) -> None:
    scene.roster.note_shells(scene.table, [NEW])
    scene.found.above[NEW] = ()
    scene.look()
    assert scene.sent == [(NEW, signal.SIGTERM)]
    assert scene.done == ["mark"]


@pytest.mark.parametrize(("number", "sent"), [(None, signal.SIGTERM), (signal.SIGUSR1, signal.SIGUSR1)])
def test_a_worker_that_an_agent_starts_again_gets_its_signal_and_the_agent_goes_on(
    scene: Scene, number: int | None, sent: int
) -> None:
    scene.found.under_agent = {NEW}
    scene.number = number
    scene.look()
    assert scene.sent == [(NEW, sent)]
    assert scene.done == ["mark"]


def leave(scene: Scene, why: str) -> None:
    if why == "a worker":
        scene.roster.note(scene.table, [NEW])
    elif why == "a shell":
        scene.shells = {NEW}
    elif why == "under no shell":
        scene.found.above[NEW] = ()
    elif why == "of a trap":
        scene.roster.trapping[OUTER] = 100
    elif why == "what a trap has become":
        scene.roster.note_shells(scene.table, [NEW])
        scene.roster.trapping[NEW] = 100
    elif why == "of an EXIT trap":
        scene.cleaning = {INNER}
    elif why == "beside the last one":
        scene.found.top = [NEW, OLD]


@pytest.mark.parametrize(
    "why",
    [
        "a worker",
        "a shell",
        "under no shell",
        "of a trap",
        "what a trap has become",
        "of an EXIT trap",
        "beside the last one",
    ],
)
def test_what_may_go_on_is_left(scene: Scene, why: str) -> None:
    leave(scene, why)
    scene.look()
    assert scene.sent == []
    assert scene.done == []


def test_a_reader_of_the_last_ones_output_does_not_keep_the_next_one(scene: Scene) -> None:
    scene.found.top = [NEW, OLD]
    scene.roster.workers[OLD].listens = True
    scene.look()
    assert (NEW, signal.SIGTERM) in scene.sent
