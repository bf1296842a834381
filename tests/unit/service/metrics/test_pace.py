"""How often ranks are asked to send."""

from __future__ import annotations

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.metrics.pace import ALONE, BY_SECOND, GATHER_S, GONE_AFTER_S, WATCHED_S, Pace

RUN = RunId("7.1")


def filled(ranks: int, now: float = 0.0) -> Pace:
    pace = Pace()
    for rank in range(ranks):
        pace.next_after(RUN, rank, now)
    return pace


def test_few_ranks_send_each_window() -> None:
    assert filled(10 * BY_SECOND).next_after(RUN, 0, 1.0) == 10


def test_many_ranks_together_send_so_many_pieces_a_second() -> None:
    assert filled(1500).next_after(RUN, 0, 1.0) == 1500 / BY_SECOND


def test_ranks_that_have_gone_are_not_counted() -> None:
    pace = filled(1500)
    assert pace.next_after(RUN, 0, GONE_AFTER_S + 1.0) == 10


def test_a_run_that_somebody_looks_at_sends_each_window_for_a_minute() -> None:
    pace = filled(1500)
    pace.watch(RUN, 1.0)
    assert pace.next_after(RUN, 3, 2.0) == 10
    assert pace.next_after(RunId("8.1"), 3, 2.0) > 100
    assert pace.next_after(RUN, 1400, 2.0) > 100, "a gang of thousands is not sent at once because one looks"
    assert pace.next_after(RUN, 3, 1.0 + WATCHED_S) > 100


def test_pieces_wait_for_one_another_where_many_ranks_send() -> None:
    assert filled(ALONE).gather() == 0
    assert filled(ALONE + 1).gather() == GATHER_S
