"""Numbers as codes, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.codes import LAST, BadChunk, Codes, code_of, codes_of, value_of
from hai_scheduler.core.metrics.series import Spread

NUMBERS = st.floats(0, 1e18, allow_nan=False)


@given(NUMBERS)
def test_a_code_stands_for_its_number(value: float) -> None:
    assert code_of(value_of(code_of(value))) == code_of(value)
    assert value_of(code_of(value)) == pytest.approx(value, rel=0.006, abs=1e-4)


@given(NUMBERS, NUMBERS)
def test_codes_grow_with_their_numbers(one: float, other: float) -> None:
    if one <= other:
        assert code_of(one) <= code_of(other)


@pytest.mark.parametrize(
    ("value", "back"),
    [(0, 0), (1e-5, 0), (1e-4, 1e-4), (1, 1), (100, 100), (1e12, 1e12), (1e18, 1e18), (1e30, 1e18)],
)
def test_the_edges_of_codes(value: float, back: float) -> None:
    assert value_of(code_of(value)) == pytest.approx(back, rel=1e-12)


@pytest.mark.parametrize("count", range(40))
def test_small_counts_are_exact_when_they_are_rounded(count: int) -> None:
    assert round(value_of(code_of(count))) == count


@pytest.mark.parametrize(
    "codes",
    [
        Codes([5, -1], [0, 0], [0, 0]),
        Codes([5, LAST + 1], [0, 0], [0, 0]),
        Codes([5, 5], [0, 5], [0, 0]),
        Codes([5, 5], [-1, 0], [0, 0]),
        Codes([5, 5], [0, 0], [0, -1]),
        Codes([5, LAST], [0, 0], [0, 1]),
        Codes([5, 0], [0, 0], [0, 1]),
        Codes([5, 1], [4, 1], [0, 0]),
    ],
)
def test_a_code_that_does_not_exist_is_found(codes: Codes) -> None:
    with pytest.raises(BadChunk, match="does not exist"):
        codes.check()


def test_all_codes_that_exist_are_taken() -> None:
    Codes([], [], []).check()
    Codes([0, 1, 5, LAST], [0, 0, 4, LAST - 1], [0, LAST - 1, 3, 0]).check()


@given(st.lists(st.none() | st.lists(NUMBERS, min_size=3, max_size=3).map(lambda three: Spread(*sorted(three)))))
def test_a_point_by_itself_is_as_among_all(spreads: list[Spread | None]) -> None:
    codes = codes_of(spreads)
    codes.check()
    assert [codes.spread(index) for index in range(len(spreads))] == codes.spreads()


@pytest.mark.parametrize("spread", [None, Spread(0, 0, 0), Spread(1, 2, 3.5), Spread(7e10, 7e10, 7e10)])
def test_a_metric_that_stays_the_same_has_the_codes_that_it_has_among_others(spread: Spread | None) -> None:
    other = Spread(4.0, 5.0, 6.0)
    alone, among = codes_of([spread] * 3), codes_of([spread, other])
    assert alone.is_same()
    assert not among.is_same()
    assert (alone.means[2], alone.below[2], alone.above[2]) == (among.means[0], among.below[0], among.above[0])
    assert alone.spreads() == [alone.spread(0)] * 3
