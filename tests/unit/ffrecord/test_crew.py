"""Threads that share work with their caller: each piece once, and nothing goes on after an error."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from hai_ffrecord import crew as module
from hai_ffrecord.crew import USUAL, Crew


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew(3)
    yield made
    made.close()


@pytest.mark.parametrize("pieces", [0, 1, 2, 50])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_each_piece_is_done_once(size: int, pieces: int) -> None:
    made = Crew(size)
    done: list[int] = []
    for _ in range(2):
        made.do(map(lambda number: lambda: done.append(number), range(pieces)))
    assert sorted(done) == sorted([*range(pieces)] * 2)
    made.close()


def test_all_of_the_crew_take_part_the_caller_included(crew: Crew) -> None:
    together = threading.Barrier(3)
    names: set[str] = set()

    def piece() -> None:
        # It is left only when three do pieces at the same time.
        together.wait(60)
        names.add(threading.current_thread().name)

    crew.do([piece] * 3)
    assert threading.current_thread().name in names
    assert sum(name.startswith("ffrecord") for name in names) == 2


def test_a_crew_of_one_starts_no_thread() -> None:
    where: list[int] = []
    Crew(1).do([lambda: where.append(threading.get_ident())] * 5)
    assert where == [threading.get_ident()] * 5


class Emptied(deque[Callable[[], None]]):
    """Work whose rest is given up after an error; `event` says when."""

    event = threading.Event()

    def clear(self) -> None:
        super().clear()
        self.event.set()


@pytest.mark.parametrize("fails_in_caller", [True, False])
def test_after_an_error_nobody_begins_another_piece_and_it_is_raised_when_all_have_stopped(
    monkeypatch: pytest.MonkeyPatch, *, fails_in_caller: bool
) -> None:
    monkeypatch.setattr(module, "deque", Emptied)
    Emptied.event.clear()
    caller, together = threading.get_ident(), threading.Barrier(2)
    finished: list[str] = []

    def piece() -> None:
        together.wait(60)
        if (threading.get_ident() == caller) == fails_in_caller:
            raise OSError("disk")
        assert Emptied.event.wait(10), "the rest is not given up"
        finished.append("one")

    later: list[Callable[[], None]] = [lambda: finished.append("later")] * 10
    pair = Crew(2)
    with pytest.raises(OSError, match="disk"):
        pair.do([piece] * 2 + later)
    assert finished == ["one"]
    monkeypatch.undo()
    pair.do([lambda: finished.append("again")] * 3)
    assert finished[1:] == ["again"] * 3, "it can be used again"
    pair.close()


def in_a_child(crew: Crew, found: multiprocessing.SimpleQueue[int]) -> None:
    together, done = threading.Barrier(2), []

    def piece() -> None:
        together.wait(60)
        done.append(1)

    crew.do([piece] * 2)
    found.put(len(done))


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(crew: Crew) -> None:
    crew.do([lambda: None] * 3)
    context = multiprocessing.get_context("fork")
    found: multiprocessing.SimpleQueue[int] = context.SimpleQueue()
    child = context.Process(target=in_a_child, args=(crew, found))
    child.start()
    assert found.get() == 2
    child.join()


def test_closing_twice_is_allowed_and_the_crew_can_be_used_again(crew: Crew) -> None:
    crew.close()
    crew.close()
    done: list[int] = []
    crew.do([lambda: done.append(1)] * 3)
    assert len(done) == 3


@pytest.mark.parametrize("size", [0, -1])
def test_a_crew_of_nobody_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"threads is {size}: at least 1, or None"):
        Crew(size)


@pytest.mark.parametrize(("processors", "size"), [(1, 1), (2, 2), (64, USUAL)])
def test_by_default_there_is_one_a_processor_up_to_a_few(
    monkeypatch: pytest.MonkeyPatch, processors: int, size: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(processors)))
    assert Crew(None).size == size
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(module.os, "cpu_count", lambda: processors)
    assert Crew(None).size == size
