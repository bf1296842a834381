"""What a signal to the supervisor in a pod means, second by second."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from hai_client.rank.notices import stop_signals
from hai_client.rank.notices.stop_signals import ImmediateEnd, PodEviction
from hai_client.rank.shared.api import Unreachable
from hai_client.rank.shared.times import rfc3339, seconds_of

GRACE, TERM_WAIT = 135.0, 10.0


class FakePipe:
    def __init__(self) -> None:
        self.signals = 0
        self.rang = threading.Event()

    def ring(self) -> None:
        self.rang.set()


class Service:
    """Answers the report of a rank that is being ended."""

    def __init__(self, *answers: int | None) -> None:
        self._answers = list(answers)
        self.reports: list[dict[str, Any]] = []
        self.answer_at_all = threading.Event()
        self.answer_at_all.set()

    def report(self, body: dict[str, Any], patience: float = 15) -> int:
        self.answer_at_all.wait(10)
        self.reports.append(body)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is None:
            raise Unreachable("ConnectionRefusedError")
        return answer


class Scene:
    """A rank in a pod, at a second that the test chooses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: int | None) -> None:
        self.wakeup_pipe, self.service = FakePipe(), Service(*answers)
        self.leaving = PodEviction(self.wakeup_pipe, self.service, grace_s=GRACE, term_wait_s=TERM_WAIT)  # type: ignore[arg-type]
        self.second = 0.0
        self._early: dict[str, Any] | None = None
        self.began = time.time()
        monkeypatch.setattr(stop_signals.time, "time", lambda: self.began + self.second)
        monkeypatch.setattr(stop_signals, "ASK_AGAIN_S", 0.01)

    def look(self, second: float) -> dict[str, Any] | None:
        self.second = second
        early, self._early = self._early, None
        return early or self.leaving.notice(second)

    def signal(self, second: float) -> None:
        """A signal and, if the service answers, its answer, which may be there before the first look is over."""
        self.wakeup_pipe.signals += 1
        self._early = self.look(second)
        if self.service.answer_at_all.is_set() and not self.leaving.must_end():
            assert self.wakeup_pipe.rang.wait(10)

    def tell(self, second: float, seconds: float, revision: int = 1) -> dict[str, Any]:
        """A notice of the service that ends `seconds` later; what the job is told."""
        self.second = second
        return self.leaving.take(
            {"kind": "suspend", "reason": "turn_over", "revision": revision, "deadline": self.at(second + seconds)}
        )

    def at(self, second: float) -> str:
        return rfc3339(int((self.began + second) * 1e9))

    def until(self, notice: dict[str, Any] | None) -> float:
        """At which second it ends."""
        assert notice is not None
        return round((seconds_of(notice["deadline"]) or 0.0) - self.began, 3)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Scene:
    return Scene(monkeypatch, *getattr(request, "param", (204,)))


def test_without_a_signal_nothing_happens(scene: Scene) -> None:
    assert scene.look(5) is None
    assert not scene.leaving.must_end()
    assert scene.leaving.left_s(5) == GRACE


def test_a_signal_without_a_notice_is_a_notice_until_shortly_before_the_pods_end(scene: Scene) -> None:
    scene.signal(0)
    told = scene.look(0.1)
    assert (told["kind"], told["reason"], told["revision"]) == ("suspend", "evicted", 0)
    assert scene.until(told) == GRACE - TERM_WAIT - stop_signals.RESERVE_S
    assert scene.look(0.2) is None, "once is enough"
    assert not scene.leaving.must_end()
    assert (scene.service.reports[0]["kind"], scene.service.reports[0]["seconds"]) == ("leaving", 120.0)


def test_at_its_deadline_everything_is_ended_within_what_the_pod_has_left(scene: Scene) -> None:
    scene.signal(0)
    scene.look(119)
    assert not scene.leaving.must_end()
    scene.look(121)
    assert scene.leaving.must_end()
    assert scene.leaving.wait_s(121) == TERM_WAIT
    assert scene.leaving.wait_s(130) == 3.0
    assert scene.leaving.wait_s(500) == 0.0


@pytest.mark.parametrize("scene", [(410,), (None, 500, 410)], indirect=True, ids=["at once", "at the third try"])
def test_a_run_that_the_service_has_killed_ends_at_once(scene: Scene) -> None:
    scene.signal(0)
    assert scene.look(0.1) is None
    assert scene.leaving.must_end()
    assert scene.leaving.wait_s(0.1) == TERM_WAIT


@pytest.mark.parametrize("scene", [(204, 204)], indirect=True, ids=["slow"])
def test_a_service_that_does_not_answer_holds_the_notice_up_for_a_second_only(scene: Scene) -> None:
    scene.service.answer_at_all.clear()
    scene.signal(0)
    assert scene.look(0.9) is None
    assert scene.look(1.1) is not None
    scene.service.answer_at_all.set()


def test_a_second_signal_ends_everything(scene: Scene) -> None:
    scene.signal(0)
    scene.signal(1)
    assert scene.leaving.must_end()


def test_a_signal_after_the_deadline_of_the_notice_ends_everything_and_asks_no_service(scene: Scene) -> None:
    scene.tell(0, 60)
    scene.signal(61)
    assert scene.leaving.must_end()
    assert scene.service.reports == []


def test_a_signal_before_the_deadline_of_the_notice_leaves_the_job_the_time_that_it_was_told(scene: Scene) -> None:
    scene.tell(0, 60)
    scene.signal(10)
    again = scene.look(11)
    assert (again["reason"], scene.until(again)) == ("turn_over", 60)
    assert not scene.leaving.must_end()
    scene.look(61)
    assert scene.leaving.must_end()


def test_no_notice_of_the_service_lasts_longer_than_the_pod(scene: Scene) -> None:
    scene.signal(0)
    assert scene.until(scene.tell(2, 20)) == 22
    assert scene.until(scene.tell(3, 1000, revision=2)) == 120
    scene.look(119)
    assert not scene.leaving.must_end()
    scene.look(121)
    assert scene.leaving.must_end()


@pytest.mark.parametrize("scene", [(403,), (400,)], indirect=True, ids=["refused", "older service"])
def test_a_service_that_does_not_understand_is_not_asked_again(scene: Scene) -> None:
    scene.signal(0)
    assert scene.look(0.1) is not None
    assert len(scene.service.reports) == 1


def test_outside_a_pod_the_first_signal_ends_everything() -> None:
    wakeup_pipe = FakePipe()
    at_once = ImmediateEnd(wakeup_pipe, 7.0)  # type: ignore[arg-type]
    assert (at_once.notice(0), at_once.must_end(), at_once.wait_s(0)) == (None, False, 7.0)
    wakeup_pipe.signals = 1
    assert (at_once.notice(0), at_once.must_end()) == (None, True)
