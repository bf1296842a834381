"""Stopping workers for a look: all of them, or none is ended; and whatever was stopped goes on."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from types import SimpleNamespace

import pytest

from hai_client.linux.processes import descendants, read_table
from hai_client.rank.notices import standstill
from hai_client.rank.notices.standstill import Standstill
from kit.waiting import wait_for
from unit.client.rank.rank_kit import a_process, a_table, end, note_signals, state_of, wait_for_state


class Evidence:
    """Says of the first looks what the test wants, and then that nobody writes."""

    def __init__(self, *writing: bool) -> None:
        self._writing = list(writing)
        self.looked_at: list[list[int]] = []

    def writing(self, pids: Iterable[int], begun: float) -> bool:
        self.looked_at.append(list(pids))
        return self._writing.pop(0) if self._writing else False


def standstill_of(evidence: Evidence) -> Standstill:
    return Standstill(evidence)  # type: ignore[arg-type]


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    """A worker with a helper below it."""
    process = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
    wait_for("the helper", lambda: descendants(read_table(), [process.pid]))
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    end(process)


def test_a_worker_stops_with_all_below_it_and_goes_on(worker: subprocess.Popen[bytes]) -> None:
    stop = standstill_of(Evidence())
    group = stop.stop([worker.pid])
    assert group == [worker.pid, *descendants(read_table(), [worker.pid])]
    assert len(group) == 2
    assert [state_of(pid) for pid in group] == ["stopped", "stopped"]
    stop.release()
    for pid in group:
        wait_for_state(pid, "alive")


def test_a_worker_that_has_ended_is_not_waited_for(worker: subprocess.Popen[bytes]) -> None:
    os.kill(worker.pid, signal.SIGKILL)
    wait_for_state(worker.pid, "ended")
    assert standstill_of(Evidence()).stop([worker.pid]) == []


def test_what_a_worker_starts_while_it_is_stopped_is_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [
        a_table(a_process(10, state="T"), a_process(11, 10)),
        a_table(a_process(10, state="T"), a_process(11, 10, state="T"), a_process(12, 11)),
        a_table(a_process(10, state="T"), a_process(11, 10, state="T"), a_process(12, 11, state="T")),
    ]
    monkeypatch.setattr(standstill, "read_table", lambda: tables.pop(0) if len(tables) > 1 else tables[0])
    sent = note_signals(monkeypatch, standstill)
    stop = standstill_of(Evidence())
    assert stop.stop([10]) == [10, 11, 12]
    assert sent == [(pid, signal.SIGSTOP) for pid in (10, 11, 12)]
    sent.clear()
    stop.release()
    assert sent == [(pid, signal.SIGCONT) for pid in (10, 11, 12)]


def test_one_that_does_not_stop_is_not_waited_for_without_end_and_all_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # It waits for a disk: SIGSTOP comes later.
    table = a_table(a_process(10, state="T"), a_process(11, 10, state="D"))
    monkeypatch.setattr(standstill, "read_table", lambda: table)
    monkeypatch.setattr(standstill, "STOP_S", 0.0)
    sent = note_signals(monkeypatch, standstill)
    stop = standstill_of(Evidence())
    assert stop.stop([10]) is None
    stop.release()
    assert sent[-2:] == [(10, signal.SIGCONT), (11, signal.SIGCONT)]


def test_only_the_last_group_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table(a_process(10, state="T"), a_process(20, state="T"))
    monkeypatch.setattr(standstill, "read_table", lambda: table)
    sent = note_signals(monkeypatch, standstill)
    stop = standstill_of(Evidence())
    stop.stop([10])
    stop.release()
    stop.stop([20])
    sent.clear()
    stop.release()
    assert sent == [(20, signal.SIGCONT)]


@pytest.mark.parametrize("writing", [[], [True], [True, True, True]])
def test_a_pause_between_two_writes_is_found(writing: list[bool]) -> None:
    evidence = Evidence(*writing)
    table = a_table(a_process(10), a_process(11, 10))
    assert standstill_of(evidence).await_pause([10], table)
    assert evidence.looked_at == [[10, 11]] * (len(writing) + 1)


def test_one_that_writes_all_the_time_has_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    # Of the module alone: threads of other tests may sleep, too.
    monkeypatch.setattr(standstill, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    evidence = Evidence(*[True] * 1000)
    assert not standstill_of(evidence).await_pause([10], a_table(a_process(10)))
    assert now == pytest.approx(standstill.PAUSE_S, abs=2 * standstill.PAUSE_LOOK_S)
