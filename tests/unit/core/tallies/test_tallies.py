"""Counters and histograms only grow, are bounded, and can be added up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.tallies.families import (
    DATABASE,
    FAMILIES,
    MOST_GROUPS,
    MOST_SERIES,
    OTHER,
    RUNS_ENDED,
    START,
    group_label,
    group_names,
)
from hai_scheduler.core.tallies.tallies import Tallies


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_a_family_has_bounds_in_order_and_a_name_of_its_kind(family) -> None:
    assert list(family.bounds) == sorted(set(family.bounds))
    assert family.name.startswith("hai_")
    assert family.name.endswith("_seconds" if family.bounds else "_total")
    assert family.meaning.endswith(".")
    assert not {"task", "run", "user", "node"} & set(family.labels), "their number has no bound"


def test_a_value_falls_into_the_first_bucket_that_holds_it() -> None:
    tallies = Tallies()
    for seconds in (0.0, 0.5, 0.51, 600.0, 600.1, -3.0):
        tallies.observe(START, ("training",), seconds)
    found = tallies.histograms[START.name]["training",]
    assert found.counts[0] == 3, "a value on the bound, and one below 0"
    assert (found.counts[1], found.counts[-2], found.counts[-1]) == (1, 1, 1)
    assert found.total == pytest.approx(1201.11)


def test_further_labels_than_there_may_be_are_counted_together() -> None:
    tallies = Tallies()
    for number in range(MOST_SERIES + 50):
        tallies.add(RUNS_ENDED, (f"g{number}", "failed", "true"), 1)
    found = tallies.counters[RUNS_ENDED.name]
    assert len(found) == MOST_SERIES + 1
    assert found[OTHER, OTHER, OTHER] == 50
    tallies.add(RUNS_ENDED, ("g3", "failed", "true"), 1)
    assert found["g3", "failed", "true"] == 2


VALUES = st.lists(st.tuples(st.sampled_from(["select", "commit"]), st.floats(0, 20)), max_size=30)


@given(VALUES, VALUES)
def test_sums_of_parts_are_the_whole(first, second) -> None:
    whole, one, two = Tallies(), Tallies(), Tallies()
    for part, values in ((one, first), (two, second)):
        for op, seconds in values:
            for tallies in (part, whole):
                tallies.observe(DATABASE, ("loop", op), seconds)
                tallies.add(RUNS_ENDED, ("training", op, "true"), seconds)
    kept = one.copy()
    one.absorb(two.drain())
    for name, found in whole.histograms.items():
        for labels, histogram in found.items():
            mine = one.histograms[name][labels]
            assert (mine.counts, mine.total) == (histogram.counts, pytest.approx(histogram.total))
    assert one.counters.get(RUNS_ENDED.name, {}) == pytest.approx(whole.counters.get(RUNS_ENDED.name, {}))
    assert (two.counters, two.histograms) == ({}, {})
    assert sum(sum(each.counts) for of in kept.histograms.values() for each in of.values()) == len(first)


def test_a_node_group_keeps_its_label_and_later_ones_are_others() -> None:
    first = group_names(frozenset(), (), frozenset({"b", "c"}))
    assert first == ("b", "c")
    more = group_names(frozenset(), first, frozenset("abcdefghij"))
    assert len(more) == MOST_GROUPS
    assert more[:2] == first
    assert group_names(frozenset(), more, frozenset()) == more
    assert (group_label("b", more), group_label("j", more)) == ("b", OTHER)


def test_settings_choose_the_groups() -> None:
    assert group_names(frozenset({"z", "y"}), ("a",), frozenset({"a", "b"})) == ("y", "z")
