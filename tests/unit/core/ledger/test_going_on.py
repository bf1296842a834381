"""What live runs took in hours that the ledger has not counted yet."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.ledger.going_on import sums_of_live
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.sums import Sums, total
from kit.builders import a_notice, a_run, at

HOUR = 3_600_000_000
NOON = begin_of(Period.HOUR, at(hours=4))


def test_a_run_is_cut_at_hours_and_at_what_it_did() -> None:
    up = NOON + timedelta(minutes=30)
    run = a_run(1, started_at=NOON + timedelta(minutes=15), running_at=up)
    found = sums_of_live([(run, 2.0)], NOON, NOON + timedelta(hours=1, minutes=15))
    assert found == {
        NOON: Sums(starting_us=HOUR // 2, useful_us=HOUR),
        NOON + timedelta(hours=1): Sums(useful_us=HOUR // 2),
    }


def test_what_is_counted_already_is_left_out_and_saving_is_told_apart() -> None:
    run = a_run(1, started_at=NOON - timedelta(days=3), running_at=NOON - timedelta(days=3))
    told = a_run(
        2,
        started_at=NOON - timedelta(days=3),
        running_at=NOON - timedelta(days=3),
        notice=a_notice(at=NOON + timedelta(minutes=30)),
    )
    until = NOON + timedelta(hours=1)
    assert sums_of_live([(run, 1.0)], NOON, until) == {NOON: Sums(useful_us=HOUR)}
    assert sums_of_live([(told, 1.0)], NOON, until) == {NOON: Sums(useful_us=HOUR // 2, saving_us=HOUR // 2)}


def test_a_run_that_is_not_up_yet_only_starts() -> None:
    run = a_run(1, started_at=NOON, running_at=None)
    until = NOON + timedelta(minutes=30)
    assert sums_of_live([(run, 1.0)], NOON, until) == {NOON: Sums(starting_us=HOUR // 2)}


@given(st.integers(-10_000, 10_000), st.integers(0, 5_000), st.integers(0, 20_000))
def test_no_time_is_counted_twice_or_lost(begin: int, starts: int, length: int) -> None:
    started = NOON + timedelta(seconds=begin)
    run = a_run(1, started_at=started, running_at=started + timedelta(seconds=starts))
    until = NOON + timedelta(seconds=length)
    taken = total(sums_of_live([(run, 1.0)], NOON, until).values())
    assert taken.node_us == max(0, (until - max(NOON, started)) // timedelta(microseconds=1))
