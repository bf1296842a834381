"""Workers that do not catch their signal: when they may be ended, and that no checkpoint is torn by it."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hai_client.linux.processes import Process
from hai_client.rank.notices import uncaught
from hai_client.rank.notices.roster import Roster
from hai_client.rank.notices.uncaught import NEVER, Uncaught
from hai_client.rank.notices.workers import Workers
from unit.client.rank.rank_kit import a_process, a_spec, a_table, masks_of, note_signals

MAIN, AGENT, WORKER, KERNEL = 10, 11, 12, 13


class Scene:
    """A rank with one worker under one launcher, and everything that the decision depends on."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.auto = self.patient = True
        #: Whether it always writes, and which saves were asked for last.
        self.always, self.begun = False, 0.0
        self.number: int | None = None
        self.polling = False
        self.driver = False
        self.own: list[int] = [WORKER]
        self.others = self.settled_ = self.busy = False
        self.same = True
        self.writes: list[bool] = []
        self.pause = True
        self.group: list[int] | None = [WORKER]
        self.done: list[Any] = []
        self.table: dict[int, Process] = a_table(a_process(MAIN), a_process(AGENT, MAIN), a_process(WORKER, AGENT))
        self.found = Workers()
        self.found.top = [WORKER]
        self.found.launchers = {WORKER: (AGENT,)}
        self.roster = Roster(None)
        self.roster.note(self.table, [WORKER])
        self.monkeypatch = monkeypatch
        self.spec = a_spec(folder, patience_s=30, term_wait_s=5)
        self.sent = note_signals(monkeypatch, uncaught)
        self.catch()
        monkeypatch.setattr(uncaught, "Standstill", lambda _: self)
        self.made = self.build()

    def build(self) -> Uncaught:
        parts: Any = self
        self.made = Uncaught(self.spec, parts, self.roster, parts, parts, parts, lambda: self.done.append("mark"))
        return self.made

    def catch(self, **caught: set[int]) -> None:
        masks = masks_of({WORKER: caught.get("worker", set())})
        self.monkeypatch.setattr(uncaught, "read_masks", masks)

    # The evidence.

    def others_save(self, now: float) -> bool:
        return self.others

    def settled(self, now: float) -> bool:
        return self.settled_

    def going_on(self, now: float) -> bool:
        return self.busy

    def unchanged(self) -> bool:
        return self.same

    def writing(self, pids: Iterable[int], begun: float = NEVER) -> bool:
        self.done.append("look")
        self.begun = begun
        if self.always and begun == NEVER:
            return True
        return self.writes.pop(0) if self.writes else False

    def tear(self, pids: Iterable[int]) -> None:
        self.done.append(("tear", list(pids)))

    # The rule.

    def polls(self) -> bool:
        return self.polling

    def judged(self, table: object, pid: int) -> list[int]:
        return self.own

    def is_driver(self, table: object, pid: int) -> bool:
        return self.driver

    # The launchers, the moment and the standstill.

    def note(self, table: object, launchers: Iterable[int], worker: int) -> None:
        self.done.append(("launchers", list(launchers), worker))

    def note_driver(self, table: object, pid: int) -> None:
        self.done.append(("driver", pid))

    def wait(self) -> None:
        self.done.append("moment")

    def await_pause(self, pids: list[int], table: object, begun: float) -> bool:
        return self.pause

    def stop(self, pids: list[int]) -> list[int] | None:
        self.done.append("stop")
        return self.group

    def release(self) -> None:
        self.done.append("release")

    # What the test does.

    def may_end(self, now: float = 0.0) -> bool:
        return self.made.may_end(self.table, now)

    def end(self, now: float = 0.0) -> None:
        self.made.end(self.roster.untold(self.table), self.table, self.found, now)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


def test_with_auto_a_worker_is_left_until_a_checkpoint_has_settled(scene: Scene) -> None:
    scene.made.began = 0.0
    assert not scene.may_end(1)
    scene.settled_ = True
    assert scene.may_end(1)


@pytest.mark.parametrize(("now", "may"), [(29.9, False), (30.0, True), (1e6, True)])
def test_with_auto_the_patience_ends(scene: Scene, now: float, may: bool) -> None:
    scene.made.began = 0.0
    assert scene.may_end(now) is may


def test_before_the_workers_were_looked_at_no_patience_is_over(scene: Scene) -> None:
    scene.made.for_good = True
    assert not scene.may_end(1e6)
    scene.made.began = 0.0
    assert scene.may_end(0.0), "a task that is stopped for good needs no patience"


@pytest.mark.parametrize("auto", [True, False])
def test_while_another_rank_saves_nobody_is_ended(scene: Scene, auto: bool) -> None:
    scene.auto, scene.settled_, scene.others = auto, True, True
    scene.made.began = 0.0
    assert not scene.may_end(59.9)
    assert scene.may_end(60.0), "that is the bound"


def test_a_job_that_always_writes_may_end_the_save_that_goes_on_at_the_bound_and_no_other(scene: Scene) -> None:
    scene.always, scene.made.began = True, 0.0
    scene.end(59.9)
    assert scene.sent == []
    scene.writes = [True]
    scene.end(60.0)
    assert scene.sent == []
    scene.end(61.0)
    assert scene.sent == [(WORKER, signal.SIGTERM)]
    assert ("tear", [WORKER]) in scene.done, "the next save, which has begun"


def test_with_auto_a_worker_that_was_told_and_saves_is_waited_for(scene: Scene) -> None:
    scene.settled_, scene.made.began = True, 0.0
    scene.roster.take_signal(scene.roster.workers[WORKER])
    assert not scene.may_end(1e6)


@pytest.mark.parametrize(
    ("own_signal", "polls", "may"),
    [(None, False, True), (None, True, True), ("USR1", False, True), ("USR1", True, False)],
)
def test_with_a_signal_only_a_job_that_polls_and_has_chosen_its_signal_is_left(
    scene: Scene, tmp_path: Path, own_signal: str | None, polls: bool, may: bool
) -> None:
    scene.spec = a_spec(tmp_path, profile="sigterm", signal=own_signal)
    scene.auto = scene.patient = False
    scene.polling = polls
    scene.build()
    assert scene.may_end() is may


def test_a_worker_is_stopped_looked_at_marked_and_then_ended(scene: Scene) -> None:
    scene.end(7.0)
    assert scene.done == ["moment", "stop", "look", "mark", ("launchers", [AGENT], WORKER), "release"]
    assert scene.sent == [(WORKER, signal.SIGTERM)]
    worker = scene.roster.workers[WORKER]
    assert (worker.told, worker.ended_at, worker.leaves, scene.roster.caught) == (True, 7.0, False, False)


def test_a_signal_of_its_own_is_the_one_that_is_sent(scene: Scene) -> None:
    scene.auto, scene.number = False, signal.SIGUSR2
    scene.end()
    assert scene.sent == [(WORKER, signal.SIGUSR2)]


@pytest.mark.parametrize(
    "why",
    [{"pause": False}, {"group": None}, {"writes": [True]}, {"same": False}],
    ids=["it writes all the time", "it does not stop", "it writes now", "the next save may have begun"],
)
def test_a_worker_that_may_be_writing_is_not_ended_and_goes_on(scene: Scene, why: dict[str, Any]) -> None:
    for name, value in why.items():
        setattr(scene, name, value)
    scene.end()
    assert scene.sent == []
    assert "mark" not in scene.done
    assert scene.done.count("stop") == scene.done.count("release")
    assert not scene.roster.workers[WORKER].told


def test_when_the_patience_is_over_a_change_alone_no_longer_counts(scene: Scene) -> None:
    scene.same, scene.made.began = False, 0.0
    scene.end(30.0)
    assert scene.sent == [(WORKER, signal.SIGTERM)]


def test_an_error_on_the_way_lets_the_workers_go_on(scene: Scene) -> None:
    def fail(pids: object, begun: float) -> bool:
        raise OSError("disk")

    scene.writing = fail  # type: ignore[method-assign]
    with pytest.raises(OSError, match="disk"):
        scene.end()
    assert scene.done[-1] == "release"


def test_the_kernel_of_a_notebook_gets_the_signal_too(scene: Scene) -> None:
    scene.own = [KERNEL]
    scene.end()
    assert sorted(scene.sent) == [(WORKER, signal.SIGTERM), (KERNEL, signal.SIGTERM)]


def test_the_driver_of_a_ray_is_noted_as_one(scene: Scene) -> None:
    scene.driver, scene.own = True, []
    scene.end()
    assert ("driver", WORKER) in scene.done
    assert scene.roster.ray_ended


def test_one_that_stays_is_killed_after_its_wait_and_what_it_writes_is_torn(scene: Scene) -> None:
    scene.end(100.0)
    scene.sent.clear()
    scene.made.insist(scene.table, 104.9)
    assert scene.sent == []
    scene.made.insist(scene.table, 105.0)
    assert scene.sent == [(WORKER, signal.SIGKILL)]
    assert scene.done[-1] == ("tear", [WORKER])


def test_one_that_leaves_by_itself_is_not_killed(scene: Scene) -> None:
    scene.catch(worker={signal.SIGTERM})
    scene.end(100.0)
    scene.sent.clear()
    scene.made.insist(scene.table, 1e6)
    assert scene.sent == []


@pytest.mark.parametrize("why", ["a save goes on", "it is gone", "another process has its pid", "not auto", "untold"])
def test_nobody_else_is_killed(scene: Scene, why: str) -> None:
    if why != "untold":
        scene.end(100.0)
    scene.sent.clear()
    scene.busy, scene.patient = why == "a save goes on", why != "not auto"
    if why == "it is gone":
        del scene.table[WORKER]
    if why == "another process has its pid":
        scene.table[WORKER] = a_process(WORKER, AGENT, start=101)
    scene.made.insist(scene.table, 1e6)
    assert scene.sent == []


def test_an_agent_that_waits_for_its_gang_is_ended_once_when_the_patience_is_over(scene: Scene) -> None:
    scene.roster.workers.clear()
    scene.found.expected = True
    scene.made.began = 0.0
    scene.made.end_agent(scene.table, scene.found, MAIN, 29.0)
    assert scene.sent == []
    for now in (30.0, 31.0):
        scene.made.end_agent(scene.table, scene.found, MAIN, now)
    assert scene.sent == [(MAIN, signal.SIGTERM)]
    assert scene.done == ["mark"]
    assert scene.roster.is_noted(scene.table[MAIN])


@pytest.mark.parametrize("why", ["it has workers", "none are expected", "not auto"])
def test_another_main_process_is_no_agent_that_waits(scene: Scene, why: str) -> None:
    scene.found.expected = why != "none are expected"
    scene.auto = why != "not auto"
    if why != "it has workers":
        scene.roster.workers.clear()
    scene.made.began = 0.0
    scene.made.end_agent(scene.table, scene.found, MAIN, 1e6)
    assert scene.sent == []
