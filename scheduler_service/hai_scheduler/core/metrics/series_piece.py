"""A piece of the series of a rank, on its way from the rank to the store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from hai_scheduler.core.metrics.codes import BadChunk
from hai_scheduler.core.metrics.columns import PackedColumns
from hai_scheduler.core.metrics.packing import pack, read_columns
from hai_scheduler.core.metrics.series import OWN, Point, Spread, unit_of
from hai_scheduler.core.model.ids import RunId

#: Points of a piece at most.
MOST_POINTS: Final = 400
#: The largest value of a metric.
MOST_VALUE: Final = 1e18
#: Most bytes of a piece that is unpacked: eight GPUs for an hour are a hundredth of it.
_MOST_BYTES: Final = 8 * 2**20


@dataclass(frozen=True, slots=True)
class SeriesPiece:
    """Points that follow each other, packed, with their columns."""

    #: As the store keeps them.
    data: bytes
    columns: PackedColumns

    @classmethod
    def of(cls, points: Sequence[Point]) -> Self:
        """Pack points."""
        data = pack(points)
        return cls(data, read_columns(data))

    @property
    def ends(self) -> Sequence[int]:
        """The ends of the points, Unix time in seconds."""
        return self.columns.ends

    @property
    def own_names(self) -> Sequence[str]:
        """The names of the job's own numbers."""
        return list(self.columns.own)

    def points(self) -> list[Point]:
        """Return the points."""
        return self.columns.points()


@dataclass(frozen=True, slots=True)
class RankPiece:
    """A piece of a rank's series."""

    run_id: RunId
    rank: int
    piece: SeriesPiece


def read_piece(data: bytes) -> SeriesPiece:
    """Return a piece that a supervisor has packed, after a look at everything in it.

    It speaks with the token of its run, which the job can read: any bytes may come.

    Raises:
        BadChunk: It is no piece, or what it says is not possible; the message says what.
    """
    columns = read_columns(data, most=_MOST_BYTES, points=MOST_POINTS)
    for name, codes in columns.codes.items():
        if not isinstance(name, str) or name.startswith(OWN) or unit_of(name) is None:
            raise BadChunk(f"{name!r:.60} is not a metric")
        codes.check()
    for name, values in columns.own.items():
        if not name.startswith(OWN) or unit_of(name) is None:
            raise BadChunk(f"{name!r:.60} is not a name for a number of the job's own")
        if not all(map(_possible, values)):
            raise BadChunk(f"{name}: not the least, the mean and the greatest of numbers up to {MOST_VALUE:g}")
    return SeriesPiece(data, columns)


def in_order(spread: Spread) -> bool:
    """Return whether the mean is between the others: a mean of rounded numbers may be beyond by the last digit."""
    least, mean, greatest = spread
    return least <= greatest and least - _slack(least) <= mean <= greatest + _slack(greatest)


def _possible(spread: Spread | None) -> bool:
    if spread is None:
        return True
    return all(math.isfinite(value) and abs(value) <= MOST_VALUE for value in spread) and in_order(spread)


def _slack(value: float) -> float:
    return max(1.0, abs(value) * 1e-5)
