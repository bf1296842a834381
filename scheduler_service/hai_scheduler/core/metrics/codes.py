"""Numbers of metrics as small codes, so that what changes little costs few bytes.

A number is kept to about half a per cent: 0 is "no value", 1 is zero, and above that the codes grow with the logarithm
of the number. The supervisors of ranks count in the same codes (`hai_client.metrics.packing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import log10
from typing import Final

from hai_scheduler.core.metrics.series import Spread

#: Numbers below the least count as zero, those above the greatest as the greatest.
_LEAST: Final = 1e-4
_GREATEST: Final = 1e18
#: The code of "no value".
NONE: Final = 0
ZERO: Final = 1
#: Codes for each power of ten: neighbours differ by 1.2 %.
_BY_TEN: Final = 200
#: The code of 1.
_ONE: Final = 2 + round(-log10(_LEAST) * _BY_TEN)
#: The greatest code.
LAST: Final = _ONE + round(log10(_GREATEST) * _BY_TEN)


class BadChunk(ValueError):
    """The bytes are no chunk, or one of a version that is not known."""


class Codes:
    """The codes of a metric, point by point: its mean (0: no value), and how far below and above the others are."""

    __slots__ = ("_same", "above", "below", "means")

    def __init__(self, means: Sequence[int], below: Sequence[int], above: Sequence[int]) -> None:
        self.means = means
        self.below = below
        self.above = above
        #: Whether all points are the same; None: it was not asked yet.
        self._same: bool | None = None

    @classmethod
    def same(cls, mean: int, below: int, above: int, count: int) -> Codes:
        """Return the codes of a metric that has the same ones at all points."""
        codes = cls([mean] * count, [below] * count, [above] * count)
        codes._same = count > 0
        return codes

    def check(self) -> None:
        """Raise BadChunk for a code that does not exist."""
        means, below, above = self.means, self.below, self.above
        if not means:
            return
        if self._same:
            means, below, above = means[:1], below[:1], above[:1]
        most = max(below)
        if min(means) < NONE or min(below) < 0 or min(above) < 0:
            raise BadChunk("a chunk with a code that does not exist")
        # Most metrics are far from both ends of the codes, so that one look at the extremes is enough.
        if min(means) - most >= ZERO and max(means) + max(above) <= LAST:
            return
        for mean, low, high in zip(means, below, above, strict=True):
            if (mean - low < ZERO or mean + high > LAST) and (mean, low, high) != (NONE, 0, 0):
                raise BadChunk("a chunk with a code that does not exist")

    def is_same(self) -> bool:
        """Return whether all points have the same value, or all have none. Most metrics of a rank are such."""
        if self._same is None:
            self._same = bool(self.means) and all(
                column.count(column[0]) == len(column) for column in (self.means, self.below, self.above)
            )
        return self._same

    def spread(self, index: int) -> Spread | None:
        """Return the value of one point; None: it has none."""
        mean = self.means[index]
        if mean == NONE:
            return None
        values = values_of_codes()
        return Spread(values[mean - self.below[index]], values[mean], values[mean + self.above[index]])

    def spreads(self) -> list[Spread | None]:
        """Return the values of all points."""
        if self.is_same():
            return [self.spread(0)] * len(self.means)
        values = values_of_codes()
        rows = zip(self.means, self.below, self.above, strict=True)
        if NONE not in self.means:
            return [Spread(values[mean - low], values[mean], values[mean + high]) for mean, low, high in rows]
        return [
            None if mean == NONE else Spread(values[mean - low], values[mean], values[mean + high])
            for mean, low, high in rows
        ]


def codes_of(spreads: Sequence[Spread | None]) -> Codes:
    """Return the codes of the values of a metric, of which none is negative."""
    if spreads and spreads.count(spreads[0]) == len(spreads):
        # One object most often, so that this look costs nothing.
        return Codes.same(*_codes_of_one(spreads[0]), len(spreads))
    rows = [_codes_of_one(spread) for spread in spreads]
    return Codes(*([row[place] for row in rows] for place in range(3)))


def _codes_of_one(spread: Spread | None) -> tuple[int, int, int]:
    """Return the code of the mean, and how far below and above it those of the others are, which are near."""
    if spread is None:
        return NONE, 0, 0
    least, mean, greatest = spread
    code = code_of(mean)
    # Of a value that stays the same the distances need no logarithm.
    below = 0 if least == mean else max(0, code - code_of(least))
    return code, below, 0 if greatest == mean else max(0, code_of(greatest) - code)


@lru_cache(maxsize=1 << 14)
def code_of(value: float) -> int:
    """Return the code of a number that is not negative."""
    return ZERO if value < _LEAST else _ONE + round(log10(min(value, _GREATEST)) * _BY_TEN)


@lru_cache(maxsize=1 << 13)
def value_of(code: int) -> float:
    """Return the number that a code stands for."""
    return 0.0 if code <= ZERO else float(10.0 ** ((code - _ONE) / _BY_TEN))


@cache
def values_of_codes() -> list[float]:
    """Return the numbers of all codes, by code."""
    return [value_of(code) for code in range(LAST + 1)]
