"""The moment at which all ranks of a gang send their signals, with a clock of the test's own."""

from __future__ import annotations

import pytest

from hai_client.rank.notices.moment import LONGEST_S, Moment


class Node:
    """A node whose clock is wrong by `wrong` seconds."""

    def __init__(self, wrong: float = 0.0) -> None:
        self.now = 1_000_000.0
        self._wrong = wrong
        self.moment = Moment(lambda: self.now + self._wrong, lambda: self.now - 900_000, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("late", [0.0, 0.017, 0.049])
def test_ranks_that_learn_of_it_apart_send_together(late: float) -> None:
    node = Node()
    node.now += late
    node.moment.choose(1_000_000.05)
    # It looks at its processes first.
    node.now += 0.0005
    node.moment.wait()
    assert node.now == pytest.approx(1_000_000.05)


def test_who_learns_of_it_late_sends_at_once() -> None:
    node = Node()
    node.now += 0.2
    node.moment.choose(1_000_000.05)
    node.moment.wait()
    assert node.now == 1_000_000.2


def test_whose_look_takes_too_long_sends_at_once() -> None:
    node = Node()
    node.moment.choose(1_000_000.05)
    node.now += 0.3
    node.moment.wait()
    assert node.now == 1_000_000.3


def test_a_clock_that_is_slow_delays_nothing_for_longer() -> None:
    node = Node(wrong=-3600)
    node.moment.choose(1_000_000.05)
    node.moment.wait()
    assert node.now == pytest.approx(1_000_000 + LONGEST_S)


def test_it_is_waited_for_once() -> None:
    node = Node()
    node.moment.choose(1_000_000.05)
    node.moment.wait()
    node.now -= 0.04
    node.moment.wait()
    assert node.now == pytest.approx(1_000_000.01)


def test_without_a_moment_there_is_no_wait() -> None:
    node = Node()
    node.moment.wait()
    node.moment.choose(1_000_000.05)
    node.moment.choose(None)
    node.moment.wait()
    assert node.now == 1_000_000
