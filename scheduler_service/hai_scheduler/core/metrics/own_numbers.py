"""Packs the numbers that jobs report of themselves: few of them, of any size and sign, and to six digits.

A learning rate of 0.00003, a loss of -1.2 and an accuracy that grows from 0.951 to 0.952 must all come back; so they
are no codes as other metrics (`packing`), but decimal numbers in the head of a chunk. Most points have none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hai_scheduler.core.metrics.series import Spread


def own_head(own: Mapping[str, Sequence[Spread | None]]) -> dict[str, list[list[float]]]:
    """Return columns for the head of a chunk, by name: places, means, and least and greatest values.

    Where all values of a metric are the same as the mean, as of reports that come seldom, the last two are left out.
    """
    found = {}
    for name, column in own.items():
        rows = [
            [place, *map(_short, (spread.mean, spread.least, spread.greatest))]
            for place, spread in enumerate(column)
            if spread is not None
        ]
        if rows:
            columns = [list(one) for one in zip(*rows, strict=True)]
            found[name] = columns[:2] if columns[1] == columns[2] == columns[3] else columns
    return found


def own_columns(head: Mapping[str, Any], count: int) -> dict[str, list[Spread | None]]:
    """The columns of a head, for `count` points. Raises ValueError, TypeError, LookupError."""
    found: dict[str, list[Spread | None]] = {}
    for name, (places, means, *rest) in head.items():
        least, greatest = rest or (means, means)
        column: list[Spread | None] = [None] * count
        for place, *values in zip(places, least, means, greatest, strict=True):
            if not 0 <= place < count:
                raise ValueError("a number beyond the last point")
            column[place] = Spread(*map(float, values))
        found[name] = column
    return found


def _short(value: float) -> float:
    """The number with six digits, and as a whole number where it is one: that is shorter."""
    short = float(f"{value:.6g}")
    return int(short) if short == int(short) and abs(short) < 1e6 else short
