"""Counters that only grow, as rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.metrics.rates import Rates


def test_rates_leave_out_what_was_reset_and_what_is_new() -> None:
    rates = Rates()
    assert rates.of({"a": 5}, 1.0) == {}
    assert rates.of({"a": 9, "b": 100}, 3.0) == {"a": 2}
    assert rates.of({"a": 1, "b": 150}, 4.0) == {"b": 50}
    assert rates.of({"a": 2, "b": 150}, 4.0) == {}


@pytest.mark.parametrize(
    ("before", "now", "rate"),
    [
        ({"a": 10}, {"a": 10}, {"a": 0}),
        ({"a": 10}, {"a": 9}, {}),
        ({"a": 10}, {}, {}),
        ({}, {"a": 10}, {}),
        ({"a": 0}, {"a": 1e12}, {"a": 5e11}),
    ],
    ids=["stands still", "was reset", "has gone", "is new", "is great"],
)
def test_the_rate_of_a_counter_between_two_samples(
    before: dict[str, float], now: dict[str, float], rate: dict[str, float]
) -> None:
    rates = Rates()
    rates.of(before, 100.0)
    assert rates.of(now, 102.0) == rate


def test_after_a_reset_the_next_rate_is_counted_from_the_new_value() -> None:
    rates = Rates()
    rates.of({"a": 1000}, 0.5)
    assert rates.of({"a": 10}, 1.5) == {}
    assert rates.of({"a": 40}, 2.5) == {"a": 30}


def test_a_counter_that_was_missing_once_begins_again() -> None:
    rates = Rates()
    rates.of({"a": 1}, 1.0)
    rates.of({}, 2.0)
    assert rates.of({"a": 100}, 3.0) == {}, "the time since the value before is not known to be one second"
    assert rates.of({"a": 101}, 4.0) == {"a": 1}


def test_a_sample_of_the_same_moment_is_the_one_that_the_next_is_counted_from() -> None:
    rates = Rates()
    rates.of({"a": 10}, 1.0)
    assert rates.of({"a": 14}, 1.0) == {}
    assert rates.of({"a": 20}, 3.0) == {"a": 3}


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(1, 100)), min_size=1, max_size=30))
def test_rates_times_their_seconds_are_what_the_counter_has_grown(steps: list[tuple[int, int]]) -> None:
    rates = Rates()
    rates.of({"a": 0}, 0.0)
    value = now = 0
    grown = 0.0
    for more, seconds in steps:
        value, now = value + more, now + seconds
        grown += rates.of({"a": value}, now)["a"] * seconds
    assert grown == pytest.approx(value)
