"""Telling tasks to leave, waiting for them, and letting them go on at the next start."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_client.errors import HaiError
from hai_client.http import Transport
from hai_hub.shared.console import Interrupts
from hai_hub.shared.state import StateDir
from hai_hub.up import farewell


class Service(Transport):
    """A service whose tasks leave one by one, a step at every look."""

    def __init__(self, looks: list[list[str]], *, paused: bool = False, fails: bool = False) -> None:
        super().__init__("http://nowhere")
        object.__setattr__(self, "_looks", looks)
        object.__setattr__(self, "calls", [])
        object.__setattr__(self, "paused", paused)
        object.__setattr__(self, "fails", fails)

    calls: list[str]
    paused: bool
    fails: bool
    _looks: list[list[str]]

    def call(self, method: str, path: str, *, body: Any = None, **_ignored: Any) -> Any:
        self.calls.append(f"{method} {path} {body}")
        if self.fails:
            message = f"{method} was not answered"
            raise HaiError(message)
        if method == "POST":
            return None
        if path == "/cluster":
            return {"paused": self.paused}
        names = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        return {"items": [{"name": name, "user": "ann"} for name in names]}


@pytest.fixture
def state(tmp_path: Path) -> StateDir:
    made = StateDir(tmp_path / "state")
    made.path.mkdir()
    return made


def stop(service: Service, state: StateDir, *, hub_runs: Callable[[], bool] = lambda: True) -> None:
    with Interrupts() as interrupts:
        farewell.pause_and_wait(service, state, interrupts, hub_runs)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farewell, "_BETWEEN_S", 0.001)


def test_it_waits_until_all_have_left_and_says_for_whom(state: StateDir, capsys: pytest.CaptureFixture[str]) -> None:
    service = Service([["digits", "other"], ["digits", "other"], ["digits"], []])
    stop(service, state)
    said = capsys.readouterr().out
    assert "POST /cluster/pause {'grace_s': 25.0}" in service.calls
    assert said.count("Waiting for 2 tasks: digits (ann), other (ann)") == 1
    assert said.count("Waiting for task digits (ann)") == 1
    assert "All tasks have left; they resume at the next start" in said
    assert state.remembered.paused_by_up


def test_a_second_interrupt_ends_the_wait(state: StateDir, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return True

    stop(Service([["digits"]]), state, hub_runs=interrupt)
    assert "Not waiting any longer" in capsys.readouterr().out


def test_the_wait_has_an_end(
    state: StateDir, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farewell, "LONGEST_S", 0.01)
    stop(Service([["digits"]]), state)
    assert "resumes from its last checkpoint" in capsys.readouterr().out


def test_without_tasks_it_says_nothing(state: StateDir, capsys: pytest.CaptureFixture[str]) -> None:
    stop(Service([[]]), state)
    assert capsys.readouterr().out == ""


def test_a_pause_of_an_administrator_is_left_as_it_is(state: StateDir) -> None:
    service = Service([[]], paused=True)
    stop(service, state)
    farewell.resume(service, state)
    assert not [call for call in service.calls if call.startswith("POST")]


def test_a_service_that_does_not_answer_does_not_stop_the_stopping(
    state: StateDir, capsys: pytest.CaptureFixture[str]
) -> None:
    stop(Service([[]], fails=True), state)
    assert "could not be told" in capsys.readouterr().out


def test_the_next_start_ends_the_pause_once(state: StateDir) -> None:
    service = Service([[]])
    state.remember(paused_by_up=True)
    farewell.resume(service, state)
    farewell.resume(service, state)
    assert service.calls == ["POST /cluster/resume None"]
    assert not state.remembered.paused_by_up


def test_a_pause_that_could_not_be_ended_is_tried_again_at_the_next_start(state: StateDir) -> None:
    state.remember(paused_by_up=True)
    farewell.resume(Service([[]], fails=True), state)
    assert state.remembered.paused_by_up
