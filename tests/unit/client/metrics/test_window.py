"""The samples of ten seconds, as least, mean and greatest value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.metrics.window import WINDOW_S, Window, number_of, rounded
from hai_scheduler.core.metrics import series


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=50))
def test_the_mean_is_between_the_least_and_the_greatest(values: list[float]) -> None:
    window = Window()
    for value in values:
        window.add({"memory": value})
    least, mean, greatest = window.close()["memory"]
    assert least <= mean <= greatest
    assert least == rounded(min(values))
    assert greatest == rounded(max(values))
    assert not window


def test_a_metric_that_is_missing_in_a_sample_is_missing_in_its_mean_too() -> None:
    window = Window()
    for sample in ({"cpu": 1.0, "gpu0_use": 50.0}, {"cpu": 2.0}, {"cpu": 6.0, "gpu0_use": 70.0}, {}):
        window.add(sample)
    assert window.close() == {"cpu": [1, 3, 6], "gpu0_use": [50, 60, 70]}


def test_a_window_that_was_closed_is_empty_and_takes_the_next_samples() -> None:
    window = Window()
    assert not window
    window.add({})
    assert not window, "a sample without a figure is none"
    window.add({"cpu": 9.0})
    assert window
    window.close()
    assert window.close() == {}
    window.add({"cpu": 1.0})
    assert window.close() == {"cpu": [1, 1, 1]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0004, "0"),
        (0.12345, "0.123"),
        (99.9994, "99.999"),
        (99.9996, "100"),
        (100.4, "100"),
        (-99.12345, "-99.123"),
        (-100.6, "-101"),
        (16.0 * 2**30, "17179869184"),
    ],
)
def test_numbers_have_no_more_digits_than_they_need(value: float, text: str) -> None:
    assert repr(rounded(value)) == text


@pytest.mark.parametrize(
    ("seconds", "number"),
    [(0.0, 0), (9.999, 0), (10.0, 1), (1_700_000_009.99, 170_000_000), (1_700_000_010, 170_000_001)],
)
def test_windows_begin_at_the_same_moments_on_all_machines(seconds: float, number: int) -> None:
    assert number_of(seconds) == number


def test_the_service_takes_windows_of_this_length() -> None:
    assert WINDOW_S == series.WINDOW_S == 10
