"""The order of a trace: who is told what, what is waited for, and what is said where nothing comes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hai_client.rank.profiling import tracing
from hai_client.rank.profiling.door import RecordingDoor
from hai_client.rank.profiling.sending import CannotSend
from hai_client.rank.profiling.tracing import MOST_PROCESSES, TraceJob

PID = os.getpid()


class Sender:
    """Keeps what it is given."""

    def __init__(self, error: str | None = None) -> None:
        self.sent: dict[int, str] = {}
        self._error = error

    def send(self, path: str, number: int) -> bool:
        if self._error:
            raise CannotSend(self._error)
        self.sent[number] = Path(path).read_text()
        return "cpu_op" in self.sent[number]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[RecordingDoor]:
    made = RecordingDoor(str(tmp_path))
    made.open({})
    yield made
    made.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time of the machine, which the test moves."""
    now = [1000.0]
    monkeypatch.setattr(tracing.time, "time", lambda: now[0])
    return now


def job(door: RecordingDoor, **order: Any) -> TraceJob:
    given = {"id": 3, "starts_ms": 1_004_000, "seconds": 2.0, "steps": None, "memory": False, "most_bytes": 9}
    return TraceJob({**given, **order}, door, None)


def lines(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_all_begin_at_the_moment_of_the_order_and_are_told_once(door: RecordingDoor, clock: list[float]) -> None:
    one = job(door, memory=True)
    told = lines(one.config(PID))
    assert told["PROFILE_START_TIME"] == "1004000"
    assert told["ACTIVITIES_DURATION_MSECS"] == "2000"
    assert told["PROFILE_PROFILE_MEMORY"] == "true"
    assert told["ACTIVITIES_LOG_FILE"] == f"{door.spool}/trace-3-0.json"
    assert one.config(PID) == ""


def test_who_asks_late_begins_at_once_and_ends_with_the_others(door: RecordingDoor, clock: list[float]) -> None:
    clock[0] = 1004.5
    told = lines(job(door).config(PID))
    assert (told["PROFILE_START_TIME"], told["ACTIVITIES_DURATION_MSECS"]) == ("0", "1500")
    clock[0] = 1011
    assert job(door).config(PID) == ""


def test_an_order_that_a_process_has_dropped_is_told_again(door: RecordingDoor, clock: list[float]) -> None:
    one = job(door)
    assert one.config(PID)
    # Kineto has made the file, and has then found that its thread comes too late for this start.
    (Path(door.spool) / f"trace-3-0_{PID}.json.tmp").touch()
    clock[0] = 1005.4
    assert one.config(PID) == ""
    clock[0] = 1005.6
    told = lines(one.config(PID))
    assert (told["PROFILE_START_TIME"], told["ACTIVITIES_DURATION_MSECS"]) == ("0", "2000")
    assert told["ACTIVITIES_LOG_FILE"] == f"{door.spool}/trace-3-0.json"
    clock[0] = 1011
    assert one.config(PID) == "", "it has some seconds to begin"
    clock[0] = 1011.2
    assert one.config(PID)
    clock[0] = 1030
    assert one.config(PID) == "", "three times are enough"


@pytest.mark.parametrize("steps", [None, 5])
def test_a_process_that_has_written_its_trace_is_not_told_again(
    door: RecordingDoor, clock: list[float], steps: int | None
) -> None:
    one = job(door, steps=steps)
    assert one.config(PID)
    (Path(door.spool) / f"trace-3-0_{PID}.json").write_text("{}")
    clock[0] = 1006
    assert one.config(PID) == ""


def test_steps_are_counted_by_the_optimizer(door: RecordingDoor, clock: list[float]) -> None:
    told = lines(job(door, steps=10).config(PID))
    assert told["ACTIVITIES_ITERATIONS"] == "10"
    assert "ACTIVITIES_DURATION_MSECS" not in told


def test_no_more_processes_than_the_bound_are_told(door: RecordingDoor, clock: list[float]) -> None:
    one = job(door)
    assert sum(bool(one.config(pid)) for pid in range(1, 100)) == MOST_PROCESSES


def test_a_trace_is_whole_when_it_does_not_grow_and_helpers_are_left_out(
    door: RecordingDoor, clock: list[float]
) -> None:
    one, sender = job(door), Sender()
    one.config(PID)
    one.config(os.getppid())
    assert not one.step(1)
    clock[0] = 1006.5
    spool = Path(door.spool)
    (spool / f"trace-3-0_{PID}.json").write_text('{"cat": "cpu_op"')
    (spool / "trace-3-1_1.json.tmp").write_text("half")
    (spool / "trace-31-0_1.json").write_text("of another recording")
    assert not one.step(2)
    (spool / f"trace-3-0_{PID}.json").write_text('{"cat": "cpu_op"}')
    (spool / "trace-3-1_1.json").write_text("{}")
    assert not one.step(3)
    assert one.step(4)
    body = one.send(sender)
    assert (body["state"], body["message"]) == ("done", None)
    assert [(trace["number"], trace["pid"]) for trace in body["traces"]] == [(0, PID)]
    assert sender.sent[0] == '{"cat": "cpu_op"}'
    assert [path.name for path in spool.iterdir()] == ["trace-31-0_1.json"]
    assert json.dumps(body)


def test_what_cannot_be_sent_is_said(door: RecordingDoor, clock: list[float]) -> None:
    one = job(door)
    one.config(PID)
    clock[0] = 1006.5
    (Path(door.spool) / "trace-3-0.json").write_text("{}")
    one.step(1)
    assert one.step(2)
    body = one.send(Sender("too large"))  # type: ignore[arg-type]
    assert (body["state"], body["message"]) == ("failed", f"process {PID}: too large")


def test_without_a_process_of_pytorch_it_ends_soon_and_says_so(door: RecordingDoor, clock: list[float]) -> None:
    one = job(door)
    assert not one.step(1)
    clock[0] = 1010.5
    assert one.step(2)
    body = one.send(Sender())  # type: ignore[arg-type]
    assert body["state"] == "failed"
    assert "no process of this rank has PyTorch loaded" in body["message"]


def test_pytorch_that_does_not_ask_is_another_matter(
    door: RecordingDoor, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "_has_torch", lambda _: True)
    monkeypatch.setattr(tracing, "descendants", lambda *_: [PID])
    clock[0] = 1020
    assert "does not ask for recordings" in job(door).send(Sender())["message"]  # type: ignore[arg-type]
    assert "no socket" in job(RecordingDoor("/nowhere")).send(Sender())["message"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "pid", "words"),
    [
        (None, PID, "torch.profiler itself"),
        (7, PID, "7 steps"),
        (None, 2**22 + 1, "have ended"),
        (7, 2**22 + 1, "have ended"),
    ],
    ids=["at the same time", "steps", "ended", "ended within the steps"],
)
def test_a_trace_that_never_comes_is_explained(
    door: RecordingDoor, clock: list[float], steps: int | None, pid: int, words: str
) -> None:
    one = job(door, steps=steps)
    one.config(pid)
    clock[0] = 1300
    assert one.step(time.monotonic())
    assert words in one.send(Sender())["message"]  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"starts_ms": "x"}, {"seconds": None}, {"most_bytes": None}])
def test_an_order_that_is_not_understood_is_refused(door: RecordingDoor, wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        job(door, **wrong)
