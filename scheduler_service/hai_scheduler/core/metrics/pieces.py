"""Pieces of series as the supervisors of ranks pack them (`hai_client.metrics.packing`), and as they are stored first.

The columns of all metrics as codes (`codes`), as differences of neighbours, each as wide as it needs to be, compressed
together. Until version 1.4 all chunks of the store had this form. A piece comes from a job's node, so everything of it
is checked before it is stored.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from hai_scheduler.core.metrics.codes import BadChunk, Codes
from hai_scheduler.core.metrics.own_numbers import own_columns
from hai_scheduler.core.metrics.series import Point, Spread, is_wanted

#: The first byte of a piece.
PIECE_FORM: Final = 2
#: Bytes of an element of a column, and what `array` calls it; 0: the column stays the same.
_WIDTHS: Final = {1: "b", 2: "h", 8: "q"}
_SAME: Final = 0
#: Bytes of the first number of a column.
_FIRST: Final = 8
#: Most bytes of an unpacked piece: more is no piece of ours.
_MOST_BYTES: Final = 32 * 2**20
#: Most points of a chunk: those of ten seconds in four days.
_MOST_POINTS: Final = 35_000


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

    def last(self) -> Point:
        """Return the last point, without a look at the others. Raises LookupError if there is none."""
        columns = [(name, codes.spread(-1)) for name, codes in self.codes.items()]
        columns += [(name, column[-1]) for name, column in self.own.items()]
        return Point(self.ends[-1], {name: spread for name, spread in columns if spread is not None})


def read_columns(
    chunk: bytes, names: Collection[str] | None = None, *, most: int = _MOST_BYTES, points: int = _MOST_POINTS
) -> PackedColumns:
    """Return the columns of a piece, with these metrics alone (None: with all).

    Args:
        chunk: The piece.
        names: The metrics.
        most: Most bytes that it may have when it is unpacked.
        points: Most points that it may have.

    Raises:
        BadChunk: It is damaged. That a code or a name does not exist is not looked at.
    """
    if chunk[:1] != bytes((PIECE_FORM,)):
        raise BadChunk(f"a piece of form {chunk[:1].hex() or 'nothing'}")
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(chunk[1:], most)
        if not inflate.eof:
            raise BadChunk("a chunk that is cut off or too large")
        head, _, body = data.partition(b"\n")
        said = json.loads(head)
        count = said["points"]
        if not 0 <= count <= points:
            raise BadChunk(f"a chunk with {count!r:.20} points")
        reader = _Columns(body, count)
        ends = reader.next()
        columns = {}
        for name in said["names"]:
            if is_wanted(name, names):
                columns[name] = Codes(reader.next(), reader.next(), reader.next())
            else:
                reader.skip(3)
        own = {name: found for name, found in said.get("own", {}).items() if is_wanted(name, names)}
        return PackedColumns(ends, columns, own_columns(own, count))
    except BadChunk:
        raise
    except (zlib.error, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BadChunk(f"a damaged chunk ({type(error).__name__})") from error


class _Columns:
    """The columns of a piece, one after the other.

    Args:
        body: The columns as bytes.
        count: How many numbers each column has.
    """

    def __init__(self, body: bytes, count: int) -> None:
        self._body = body
        self._count = count
        self._at = 0

    def next(self) -> Sequence[int]:
        """Return the next column. Raises BadChunk, LookupError, ValueError."""
        width = self._body[self._at]
        begin = self._at + 1 + _FIRST
        first = int.from_bytes(self._cut(begin - _FIRST, _FIRST), "little", signed=True)
        self._at = begin + width * self._count
        if width == _SAME:
            return [first] * self._count
        differences = array(_WIDTHS[width])
        differences.frombytes(self._cut(begin, width * self._count))
        if sys.byteorder == "big":
            differences.byteswap()
        return list(accumulate(differences, initial=first))[1:]

    def skip(self, columns: int) -> None:
        """Pass over columns. Raises LookupError."""
        for _ in range(columns):
            self._at += 1 + _FIRST + self._body[self._at] * self._count

    def _cut(self, begin: int, size: int) -> bytes:
        found = self._body[begin : begin + size]
        if len(found) != size:
            raise BadChunk("a chunk that is cut off")
        return found
