"""Ranks leave at the same call without a collective; code that polls on one rank only does not wait for others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.agreement import Agreement


class Store:
    """What c10d's store does, in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._data: dict[str, str] = {}

    def set(self, name: str, value: str) -> None:
        with self._lock:
            self._data[name] = value

    def get(self, name: str) -> bytes:
        with self._lock:
            return self._data[name].encode()

    def check(self, names: list[str]) -> bool:
        with self._lock:
            return all(name in self._data for name in names)

    def add(self, name: str, amount: int) -> int:
        with self._lock:
            self._data[name] = str(int(self._data.get(name, "0")) + amount)
            return int(self._data[name])


class Never(Exception):
    """A rank would wait although no other rank comes."""


def no_wait(_: float) -> None:
    raise Never


def together(*bodies: Callable[[], Any]) -> list[Any]:
    """What each body returns, run at the same time."""
    found: list[Any] = [None] * len(bodies)

    def run(at: int) -> None:
        found[at] = bodies[at]()

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return found


def left_at(agreement: Agreement, told_from: int, meet: Callable[[int], object]) -> int:
    """The call at which a rank leaves that meets the others in every step."""
    for call in range(1, 10_000):
        meet(call)
        if agreement.leave(call >= told_from, 60):
            return call
    raise AssertionError


@given(told=st.lists(st.integers(1, 12), min_size=2, max_size=5))
def test_all_leave_at_the_same_call_whichever_rank_hears_first(told: list[int]) -> None:
    store, barrier = Store(), threading.Barrier(len(told))

    def rank(number: int) -> Callable[[], int]:
        agreement = Agreement(store, number, len(told))
        return lambda: left_at(agreement, told[number], lambda _: barrier.wait(60))

    found = together(*(rank(number) for number in range(len(told))))
    assert len(set(found)) == 1
    assert min(told) <= found[0] <= min(told) + 3


def test_a_rank_that_only_hears_from_the_others_leaves_with_them() -> None:
    store, barrier = Store(), threading.Barrier(2)
    first, second = Agreement(store, 0, 2), Agreement(store, 1, 2)
    one, other = together(
        lambda: left_at(first, 5, lambda _: barrier.wait(60)),
        lambda: left_at(second, 10_000, lambda _: barrier.wait(60)),
    )
    assert 5 < one == other <= 8


@pytest.mark.parametrize("ahead", [1, 3, 8])
def test_a_rank_may_be_some_steps_ahead_and_then_wait_for_the_other(ahead: int) -> None:
    """As with GPUs: the program queues steps, and only now and then waits for one of them."""
    store, done, changed = Store(), [0, 0], threading.Condition()

    def meet(me: int, slack: int) -> Callable[[int], None]:
        def step(call: int) -> None:
            with changed:
                done[me] = call
                changed.notify_all()
                assert changed.wait_for(lambda: done[1 - me] >= call - slack, 60)

        return step

    slow, fast = Agreement(store, 0, 2), Agreement(store, 1, 2)
    one, other = together(lambda: left_at(slow, 5, meet(0, 0)), lambda: left_at(fast, 10_000, meet(1, ahead)))
    assert 5 < one == other <= 8 + ahead


def test_code_that_asks_on_one_rank_alone_does_not_wait() -> None:
    alone = Agreement(Store(), 0, 4, pause=no_wait)
    assert not alone.leave(False, 60)
    assert alone.leave(True, 60)
    assert alone.leave(True, 60)


def test_a_rank_that_stopped_asking_is_counted_on_for_a_while_only() -> None:
    store, now = Store(), [0.0]
    silent = Agreement(store, 1, 2)
    assert not silent.leave(False, 60)
    rank = Agreement(store, 0, 2, clock=lambda: now[0], pause=no_wait)
    assert not rank.leave(True, 3)
    now[0] += 2
    assert not rank.leave(True, 3)
    now[0] += 1
    assert rank.leave(True, 3)
    # It finds what was decided when it comes back.
    assert [silent.leave(False, 60) for _ in range(2)] == [False, True]


def test_a_rank_that_begins_to_ask_later_leaves_at_the_same_call() -> None:
    store = Store()
    early, late = Agreement(store, 0, 2, pause=no_wait), Agreement(store, 1, 2, pause=no_wait)
    assert [early.leave(call == 3, 60) for call in (1, 2, 3)] == [False, False, True]
    assert [late.leave(True, 60) for _ in range(3)] == [False, False, True]


def test_a_rank_that_was_to_decide_and_died_delays_no_other_for_longer() -> None:
    store, now = Store(), [0.0]
    store.add("hai/deciders", 1)

    def pause(seconds: float) -> None:
        now[0] += seconds

    assert Agreement(store, 0, 1, clock=lambda: now[0], pause=pause).leave(True, 2)
    assert now[0] < 2.1


def test_a_store_that_is_gone_is_told_to_the_caller() -> None:
    class Gone(Store):
        def check(self, names: list[str]) -> bool:
            raise RuntimeError("connection reset by peer")

    with pytest.raises(RuntimeError, match="reset"):
        Agreement(Gone(), 0, 2).leave(True, 60)
