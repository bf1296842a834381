"""Spans of time: joined, laid over each other, and without holes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.profiling.spans import LabelledSpan, Ruler, covered, joined_spans, laid_over, lengths, with_gaps

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12)
WINDOW = (10.0, 50.0)


def brute(layers: list[tuple[str, list[tuple[int, int]]]], moment: float) -> str | None:
    """The label of a moment, found by looking at every span."""
    for label, spans in layers:
        if any(start <= moment < end for start, end in spans):
            return label
    return None


@given(SPANS, SPANS, SPANS)
def test_the_first_layer_that_covers_a_moment_counts(one, two, three) -> None:
    layers = [("a", one), ("b", two), ("a", three)]
    found = laid_over(layers, WINDOW)
    ruler = Ruler(found)
    for tick in range(10, 50):
        expected = brute(layers, tick + 0.5)
        assert ruler.label_at(tick + 0.5) == expected
    assert all(before.end <= after.start for before, after in pairwise(found))


@given(SPANS, SPANS, st.floats(0, 5), st.floats(0, 20))
def test_with_gaps_nothing_of_the_window_is_left_out(one, two, short, bridge) -> None:
    spans = laid_over([("a", one), ("b", two)], WINDOW)
    whole = with_gaps(spans, WINDOW, short=short, idle="idle", bridging={"a": bridge})
    assert sum(lengths(whole).values()) == pytest.approx(40)
    assert [whole[0].start, whole[-1].end] == [10, 50]
    assert all(before.end == after.start for before, after in pairwise(whole))


@pytest.mark.parametrize(
    ("gap", "after", "label"),
    [(1, "b", "b"), (3, "a", "a"), (3, "b", "idle"), (6, "a", "idle"), (1, "idle", "a")],
)
def test_a_gap_belongs_to_its_neighbours_if_it_is_short(gap: int, after: str, label: str) -> None:
    spans = [LabelledSpan(0, 10, "a"), LabelledSpan(10 + gap, 20, after)]
    found = with_gaps(spans, (0, 20), short=1, idle="idle", bridging={"a": 5})
    assert found[1].label == label


def test_joined_spans_neither_touch_nor_overlap() -> None:
    assert joined_spans([(5, 6), (1, 3), (2, 4), (4, 5), (9, 9), (8, 7)]) == [(1, 6)]
    assert covered([(0, 2), (1, 5), (9, 20)], (1, 10)) == 5


def test_a_moment_without_a_span_has_no_label() -> None:
    assert Ruler([]).label_at(1) is None
    assert Ruler([LabelledSpan(2, 3, "a")]).label_at(1) is None
