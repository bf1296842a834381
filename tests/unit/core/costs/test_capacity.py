"""How much node time there was, cut at full hours."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.costs.capacity import LONGEST_GAP, capacities
from hai_scheduler.core.model.node import NodeMark
from kit.builders import T0, a_node

MINUTE_US = 60_000_000
NODES = [a_node("a", gpus=8), a_node("b", gpus=4, mark=NodeMark.CORDONED), a_node("c", group="other", gpus=0)]


def test_time_is_counted_by_group_and_hour() -> None:
    found = capacities(NODES, T0 + timedelta(minutes=50), T0 + timedelta(minutes=70))
    shown = [
        (
            part.hour - T0,
            part.node_group,
            part.node_us // MINUTE_US,
            part.gpu_us // MINUTE_US,
            part.down_us // MINUTE_US,
        )
        for part in found
    ]
    assert shown == [
        (timedelta(0), "other", 10, 0, 0),
        (timedelta(0), "training", 20, 120, 10),
        (timedelta(hours=1), "other", 10, 0, 0),
        (timedelta(hours=1), "training", 20, 120, 10),
    ]
    assert max(part.until for part in found) == T0 + timedelta(minutes=70)


def test_the_first_look_counts_nothing_and_says_that_it_was_made() -> None:
    (part,) = capacities(NODES[:1], None, T0)
    assert (part.node_us, part.until) == (0, T0)


def test_a_clock_that_was_set_back_counts_nothing() -> None:
    assert capacities(NODES, T0, T0 - timedelta(hours=1)) == []


def test_after_a_long_time_without_a_look_counting_begins_again() -> None:
    now = T0 + LONGEST_GAP + timedelta(seconds=1)
    assert [part.node_us for part in capacities(NODES[:1], T0, now)] == [0]
    assert sum(part.node_us for part in capacities(NODES[:1], T0, T0 + LONGEST_GAP)) == 24 * 60 * MINUTE_US


@given(st.lists(st.integers(1, 4 * 3600), min_size=1, max_size=8))
def test_many_looks_count_what_one_look_counts(steps: list[int]) -> None:
    now, total = T0, 0
    for step in steps:
        total += sum(part.node_us for part in capacities(NODES, now, now + timedelta(seconds=step)))
        now += timedelta(seconds=step)
    assert total == sum(steps) * len(NODES) * 1_000_000
