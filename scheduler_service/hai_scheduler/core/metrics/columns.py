"""Points of a series as columns, one for each metric: as they are packed, and as they are packed again.

Pieces of ranks become chunks of the store, and chunks coarser ones. That is done with the codes of the numbers: to make
points of them first would take twice as long.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import compress, pairwise
from operator import add, sub
from typing import Any

from hai_scheduler.core.metrics.codes import NONE, Codes, code_of, codes_of, values_of_codes
from hai_scheduler.core.metrics.retention import joined
from hai_scheduler.core.metrics.series import OWN, Point, Spread, spread_of


class PackedColumns:
    """The columns of a chunk: when its points end, and of each metric its codes, or of a job's own numbers the values.

    Args:
        ends: The ends of the points, Unix time in seconds.
        codes: The codes by metric.
        own: The values of the job's own numbers by name.
    """

    __slots__ = ("codes", "ends", "own")

    def __init__(
        self, ends: Sequence[int], codes: Mapping[str, Codes], own: Mapping[str, Sequence[Spread | None]]
    ) -> None:
        self.ends = ends
        self.codes = codes
        self.own = own

    @classmethod
    def of(cls, points: Sequence[Point]) -> PackedColumns:
        """Return the columns of points, which are in order of time."""
        names = sorted(set().union(*(point.values for point in points)))
        columns = {name: [point.values.get(name) for point in points] for name in names}
        return cls(
            [point.at for point in points],
            {name: codes_of(column) for name, column in columns.items() if not name.startswith(OWN)},
            {name: column for name, column in columns.items() if name.startswith(OWN)},
        )

    def points(self) -> list[Point]:
        """Return the points."""
        columns: dict[str, Sequence[Spread | None]] = {name: codes.spreads() for name, codes in self.codes.items()}
        columns.update(self.own)
        if not columns:
            return [Point(at, {}) for at in self.ends]
        if any(None in column for column in columns.values()):
            return [
                Point(at, {name: spread for name, column in columns.items() if (spread := column[index]) is not None})
                for index, at in enumerate(self.ends)
            ]
        found = tuple(columns)
        rows: Any = zip(*columns.values(), strict=True)
        return [Point(at, dict(zip(found, row, strict=True))) for at, row in zip(self.ends, rows, strict=True)]

    def last(self, names: Collection[str] | None = None) -> Point:
        """Return the last point, without a look at the others. Raises LookupError if there is none.

        Args:
            names: The metrics that are wanted; None: all.
        """
        columns = [(name, codes.spread(-1)) for name, codes in self.codes.items() if names is None or name in names]
        columns += [(name, column[-1]) for name, column in self.own.items() if names is None or name in names]
        return Point(self.ends[-1], {name: spread for name, spread in columns if spread is not None})

    def check(self) -> None:
        """Raise BadChunk for a code that does not exist."""
        for codes in self.codes.values():
            codes.check()


def joined_columns(parts: Sequence[PackedColumns]) -> PackedColumns:
    """Return the points of parts as one: in order of time, and of two with the same end the one of the later part."""
    ends = [end for part in parts for end in part.ends]
    if any(before >= after for before, after in pairwise(ends)):
        return PackedColumns.of(joined(point for part in parts for point in part.points()))
    return PackedColumns(
        ends,
        {name: _joined_codes(parts, name) for name in sorted({name for part in parts for name in part.codes})},
        {name: _joined_own(parts, name) for name in sorted({name for part in parts for name in part.own})},
    )


def folded_columns(columns: PackedColumns, step: int) -> PackedColumns:
    """Fold points into spans of `step` seconds, as `series.fold` does."""
    spans: dict[int, list[int]] = {}
    for index, end in enumerate(columns.ends):
        spans.setdefault(-(-end // step) * step, []).append(index)
    groups = [slice(indices[0], indices[-1] + 1) for indices in spans.values()]
    return PackedColumns(
        list(spans),
        {name: _folded_codes(codes, groups) for name, codes in columns.codes.items()},
        {name: [_folded_own(column[group]) for group in groups] for name, column in columns.own.items()},
    )


def _joined_codes(parts: Sequence[PackedColumns], name: str) -> Codes:
    means: list[int] = []
    below: list[int] = []
    above: list[int] = []
    for part in parts:
        codes = part.codes.get(name)
        if codes is None:
            codes = Codes.same(NONE, 0, 0, len(part.ends))
        means += codes.means
        below += codes.below
        above += codes.above
    return Codes(means, below, above)


def _joined_own(parts: Sequence[PackedColumns], name: str) -> list[Spread | None]:
    return [value for part in parts for value in part.own.get(name) or [None] * len(part.ends)]


def _folded_codes(codes: Codes, groups: Sequence[slice]) -> Codes:
    if codes.is_same():
        return Codes.same(codes.means[0], codes.below[0], codes.above[0], len(groups))
    values = values_of_codes()
    means = [values[mean] for mean in codes.means]
    least, greatest = list(map(sub, codes.means, codes.below)), list(map(add, codes.means, codes.above))
    gaps = NONE in codes.means
    rows = []
    for group in groups:
        among, low, high = means[group], least[group], greatest[group]
        if gaps:
            there = [mean != NONE for mean in codes.means[group]]
            among, low, high = (list(compress(column, there)) for column in (among, low, high))
            if not among:
                rows.append((NONE, 0, 0))
                continue
        mean = code_of(sum(among) / len(among))
        rows.append((mean, max(0, mean - min(low)), max(0, max(high) - mean)))
    return Codes(*([row[place] for row in rows] for place in range(3)))


def _folded_own(column: Sequence[Spread | None]) -> Spread | None:
    known = [spread for spread in column if spread is not None]
    return spread_of(known) if known else None
