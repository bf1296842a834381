"""Histograms as bytes."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.ledger.histograms import LAST_BUCKET
from hai_scheduler.store.histograms import packed, together

HISTOGRAMS = st.dictionaries(st.integers(0, LAST_BUCKET), st.integers(1, 10**6), max_size=30)


@given(HISTOGRAMS)
def test_they_come_back(counts: dict[int, int]) -> None:
    assert together([packed(counts)]) == counts


@given(st.lists(HISTOGRAMS, max_size=5))
def test_several_of_them_are_added_up(some: list[dict[int, int]]) -> None:
    whole: Counter[int] = Counter()
    for counts in some:
        whole.update(counts)
    assert together([*map(packed, some), None]) == whole


def test_one_without_counts_is_nothing_and_a_spoilt_one_stops_nobody() -> None:
    assert packed({}) is None
    assert packed({5: 0, 7: -3}) is None
    assert together([packed({5: 2**40})]) == {5: 2**32 - 1}
