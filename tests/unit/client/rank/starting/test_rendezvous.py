"""Waiting for the other ranks: what is asked again, and what the user reads meanwhile."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hai_client.rank.shared.api import Unreachable
from hai_client.rank.shared.wakeup_pipe import WakeupPipe
from hai_client.rank.starting import rendezvous
from hai_client.rank.starting.rendezvous import RankRendezvous, may_start

UP = {"addresses": ["10.0.0.1", "10.0.0.2"]}


class Service:
    """A service that gives one answer after the other, and then repeats the last one."""

    def __init__(self, *answers: tuple[int, Any] | None) -> None:
        self._answers = list(answers)
        #: Set when the last answer has been taken in: the next question has come.
        self.asked = threading.Event()
        self._last = 0

    def addresses(self, wait: int, patience: float = 15) -> tuple[int, Any]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self._last += len(self._answers) == 1
        if self._last > 2:
            self.asked.set()
        if answer is None:
            raise Unreachable("ConnectionRefusedError")
        return answer


@pytest.fixture
def wakeup_pipe(monkeypatch: pytest.MonkeyPatch) -> WakeupPipe:
    monkeypatch.setattr(rendezvous.select, "poll", Poll)
    monkeypatch.setattr(WakeupPipe, "__init__", lambda self: None)
    monkeypatch.setattr(WakeupPipe, "ring", lambda self: None)
    monkeypatch.setattr(WakeupPipe, "clear", lambda self: None)
    for name in ("FIRST_PAUSE_S", "MAX_PAUSE_S", "REFUSED_PAUSE_S"):
        monkeypatch.setattr(rendezvous, name, 0.001)
    wakeup_pipe = WakeupPipe()
    wakeup_pipe.fd, wakeup_pipe.signals = -1, 0
    return wakeup_pipe


class Poll:
    def register(self, *_: object) -> None:
        pass

    def poll(self, _: float) -> None:
        threading.Event().wait(0.001)


def waited(wakeup_pipe: WakeupPipe, *answers: tuple[int, Any] | None, say: Any = None) -> list[str] | None:
    one = RankRendezvous(Service(*answers), "http://hub/api", 2, wakeup_pipe)  # type: ignore[arg-type]
    return one.wait(say or (lambda text: pytest.fail(text)))


@pytest.mark.parametrize(
    "before",
    [
        [(200, {"addresses": None})],
        [None, None, (503, {})],
        [(401, {}), (404, {})],
        [(200, {"addresses": ["10.0.0.1"]}), (200, {"addresses": [1, 2]}), (200, {"addresses": ["", "x"]}), (200, {})],
    ],
    ids=["not all up", "away", "refused", "not what it should be"],
)
def test_it_is_asked_until_every_address_is_there(wakeup_pipe: WakeupPipe, before: list[Any]) -> None:
    assert waited(wakeup_pipe, *before, (200, UP)) == UP["addresses"]


def test_a_run_that_is_over_has_no_addresses(wakeup_pipe: WakeupPipe) -> None:
    assert waited(wakeup_pipe, None, (410, {"title": "It is over"})) is None


def test_who_is_told_to_leave_waits_no_longer(wakeup_pipe: WakeupPipe) -> None:
    wakeup_pipe.signals = 1
    assert waited(wakeup_pipe, (200, {"addresses": None})) is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((200, {"addresses": None}), "not every rank is up yet; the command starts when all are"),
        (None, "not every rank is up yet (the service at http://hub/api cannot be reached); the command starts"),
        ((403, {}), "not every rank is up yet (the service answers 403); the command starts"),
    ],
    ids=["the others", "the service", "a refusal"],
)
def test_one_line_says_what_is_waited_for_long(wakeup_pipe: WakeupPipe, monkeypatch, answer, words) -> None:
    service = Service((200, {}), answer)
    monkeypatch.setattr(rendezvous, "SAY_AFTER_S", 0.0)
    monkeypatch.setattr(rendezvous.time, "monotonic", lambda: float(service.asked.wait(10)))
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        wakeup_pipe.signals = 1

    assert RankRendezvous(service, "http://hub/api", 2, wakeup_pipe).wait(say) is None  # type: ignore[arg-type]
    assert len(said) == 1
    assert said[0].startswith(words)


def test_one_who_is_alone_starts_unless_the_run_is_over() -> None:
    assert may_start(Service((200, {"addresses": None})))  # type: ignore[arg-type]
    assert may_start(Service(None))  # type: ignore[arg-type]
    assert may_start(Service((503, {})))  # type: ignore[arg-type]
    assert not may_start(Service((410, {})))  # type: ignore[arg-type]
