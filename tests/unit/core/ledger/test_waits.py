"""Quantiles from histograms of waits."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.ledger.waits import LAST_BUCKET, bounds_of, bucket_of, quantile


@given(st.floats(0, 2**29))
def test_a_wait_lies_in_its_bucket_which_is_narrow(seconds: float) -> None:
    bucket = bucket_of(timedelta(seconds=seconds))
    low, high = bounds_of(bucket)
    assert low * 0.999999 <= timedelta(seconds=seconds).total_seconds() <= high * 1.000001
    assert bucket == 0 or high / low < 1.19


def test_the_longest_wait_has_a_bucket() -> None:
    assert bucket_of(timedelta.max) == LAST_BUCKET
    assert bucket_of(timedelta(0)) == bucket_of(timedelta(seconds=-1)) == 0


@given(st.lists(st.floats(1, 10**6), min_size=1, max_size=60), st.sampled_from([0.5, 0.9]))
def test_a_quantile_is_right_to_within_a_bucket(waits: list[float], part: float) -> None:
    spans = [timedelta(seconds=seconds) for seconds in waits]
    found = quantile(Counter(map(bucket_of, spans)), part)
    assert found is not None
    # Any wait between these two may be called the quantile.
    ordered = sorted(waits)
    place = part * len(waits)
    low = ordered[max(0, min(len(waits) - 1, int(place - 1e-9)) - (place % 1 == 0))]
    high = ordered[min(len(waits) - 1, int(place))]
    assert low / 1.2 <= found.total_seconds() <= high * 1.2


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_no_wait_has_no_quantile(part: float) -> None:
    assert quantile({}, part) is None
    assert quantile({3: 0}, part) is None
