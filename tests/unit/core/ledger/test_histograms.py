"""Quantiles from histograms."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.ledger.histograms import LAST_BUCKET, bounds_of, bucket_of, bucket_of_wait, quantile
from hai_scheduler.core.ledger.sums import merged


@given(st.floats(0, 2**29))
def test_a_value_lies_in_its_bucket_which_is_narrow(value: float) -> None:
    bucket = bucket_of(value)
    low, high = bounds_of(bucket)
    assert low * 0.999999 <= value <= high * 1.000001
    assert bucket == 0 or high / low < 1.04


def test_the_longest_wait_has_a_bucket() -> None:
    assert bucket_of_wait(timedelta.max) == LAST_BUCKET
    assert bucket_of_wait(timedelta(0)) == bucket_of_wait(timedelta(seconds=-1)) == 0


@given(st.lists(st.floats(1, 10**6), min_size=1, max_size=60), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_a_quantile_is_right_to_within_2_percent(values: list[float], part: float) -> None:
    found = quantile(Counter(map(bucket_of, values)), part)
    right = sorted(values)[max(1, ceil(part * len(values) - 1e-9)) - 1]
    assert found == pytest.approx(right, rel=0.02)


def test_values_below_one_are_not_told_apart() -> None:
    assert quantile({0: 3, bucket_of(100): 1}, 0.5) == 0.5


@given(st.lists(st.floats(0, 10**7), max_size=40), st.integers(0, 40))
def test_histograms_of_parts_are_that_of_the_whole(values: list[float], cut: int) -> None:
    whole = Counter(map(bucket_of, values))
    first, rest = Counter(map(bucket_of, values[:cut])), Counter(map(bucket_of, values[cut:]))
    assert merged(first, rest) == whole
    assert merged(whole, rest, -1) == first


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_no_value_has_no_quantile(part: float) -> None:
    assert quantile({}, part) is None
    assert quantile({3: 0}, part) is None
