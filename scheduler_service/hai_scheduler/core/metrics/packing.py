"""Points of a series as bytes: on the way to the service, and in the store.

Supervisors write their pieces in this form (`hai_client.metrics.packing`), and the store keeps pieces and chunks in it.
Each metric has three columns of codes (`codes`): the mean, and how far the least and the greatest value are from it. A
column is written as the differences of neighbours, each as wide as the largest of them needs. All columns are
compressed together. The numbers that jobs report of themselves are in the head (`own_numbers`).

A piece comes from a job's node, so everything in it is checked before it is stored (`series_piece`).
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Collection, Sequence
from itertools import accumulate, chain
from operator import sub
from typing import Final

from hai_scheduler.core.metrics.codes import NONE, BadChunk, Codes
from hai_scheduler.core.metrics.columns import PackedColumns
from hai_scheduler.core.metrics.own_numbers import own_columns, own_head
from hai_scheduler.core.metrics.series import Point, is_wanted

#: The first byte: the form that follows.
FORM: Final = 2
#: Bytes of a difference, and what `array` calls it; 0: the column stays the same.
_WIDTHS: Final = {1: "b", 2: "h", 8: "q"}
_SAME: Final = 0
#: What a column begins with: the width of its differences, and its first number.
_BEGIN: Final = struct.Struct("<Bq")
#: The three columns of a metric that stays the same.
_ALL_SAME: Final = struct.Struct("<BqBqBq")
#: Most bytes of an unpacked chunk: more is no chunk of ours.
_MOST_BYTES: Final = 32 * 2**20
#: Most points of a chunk: those of ten seconds in four days.
_MOST_POINTS: Final = 35_000
#: Most bytes of what is said before the columns, and most metrics of a piece.
_MOST_HEAD: Final = 2**20
MOST_NAMES: Final = 1000


def pack(points: Sequence[Point]) -> bytes:
    """Return points, in order of time, as bytes."""
    return pack_columns(PackedColumns.of(points))


def pack_columns(columns: PackedColumns) -> bytes:
    """Return columns, in order of time, as bytes. A metric without any value is left out."""
    body, names = bytearray(), []
    _write(body, columns.ends)
    for name, codes in sorted(columns.codes.items()):
        if codes.is_same() and codes.means[0] == NONE:
            continue
        names.append(name)
        for column in (codes.means, codes.below, codes.above):
            _write(body, column)
    own = own_head(columns.own)
    head = {"names": names, "points": len(columns.ends), **({"own": own} if own else {})}
    text = json.dumps(head, separators=(",", ":")).encode()
    # Differences are small numbers that look like chance: with this strategy they take a tenth less.
    deflate = zlib.compressobj(4, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_FILTERED)
    return bytes((FORM,)) + deflate.compress(text + b"\n" + bytes(body)) + deflate.flush()


def unpack(chunk: bytes, names: Collection[str] | None = None) -> list[Point]:
    """Return the points of a chunk, with these metrics alone (None: with all). Raises BadChunk."""
    columns = read_columns(chunk, names)
    columns.check()
    return columns.points()


def unpack_last(chunk: bytes, names: Collection[str] | None = None) -> Point:
    """Return the last point of a chunk, as `unpack` does. Raises BadChunk, also if it has no points."""
    found = read_columns(chunk, names)
    found.check()
    if not found.ends:
        raise BadChunk("a chunk without points")
    return found.last()


def read_columns(
    chunk: bytes, names: Collection[str] | None = None, *, most: int = _MOST_BYTES, points: int = _MOST_POINTS
) -> PackedColumns:
    """Return the columns of a chunk, with these metrics alone (None: with all).

    Args:
        chunk: The chunk.
        names: The metrics.
        most: Most bytes that it may have when it is unpacked.
        points: Most points that it may have.

    Raises:
        BadChunk: It is damaged. That a code or a name does not exist is not looked at.
    """
    if chunk[:1] != bytes((FORM,)):
        raise BadChunk(f"a chunk of form {chunk[:1].hex() or 'nothing'}")
    try:
        return _read(chunk, names, most, points)
    except BadChunk:
        raise
    except (
        zlib.error,
        struct.error,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise BadChunk(f"a damaged chunk ({type(error).__name__})") from error


def _read(chunk: bytes, names: Collection[str] | None, most: int, points: int) -> PackedColumns:
    inflate = zlib.decompressobj()
    data = inflate.decompress(chunk[1:], most)
    if not inflate.eof:
        raise BadChunk("a chunk that is cut off or too large")
    head, _, body = data.partition(b"\n")
    if len(head) > _MOST_HEAD:
        raise BadChunk(f"a chunk with {len(head)} bytes before its columns")
    said = json.loads(head)
    if len(said["names"]) + len(said.get("own", ())) > MOST_NAMES:
        # Each would become three columns, however little it says.
        raise BadChunk(f"more than {MOST_NAMES} metrics")
    count = said["points"]
    if not 0 <= count <= points:
        raise BadChunk(f"a chunk with {count!r:.20} points")
    reader = _Columns(body, count)
    ends = reader.next()
    columns = {}
    for name in said["names"]:
        if is_wanted(name, names):
            columns[name] = reader.codes()
        else:
            reader.skip(3)
    own = {name: found for name, found in said.get("own", {}).items() if is_wanted(name, names)}
    return PackedColumns(ends, columns, own_columns(own, count))


def _write(body: bytearray, values: Sequence[int]) -> None:
    """Write a column: the width of its differences, its first number, and the differences unless all are 0."""
    first = values[0] if values else 0
    differences = list(map(sub, values, chain((first,), values)))
    low, high = min(differences, default=0), max(differences, default=0)
    if not low and not high:
        body += _BEGIN.pack(_SAME, first)
        return
    width = next(width for width in _WIDTHS if -(1 << 8 * width - 1) <= low and high < 1 << 8 * width - 1)
    numbers = array(_WIDTHS[width], differences)
    if sys.byteorder == "big":
        numbers.byteswap()
    body += _BEGIN.pack(width, first) + numbers.tobytes()


class _Columns:
    """Reads columns one after the other.

    Args:
        body: The columns as bytes.
        count: How many numbers each column has.
    """

    def __init__(self, body: bytes, count: int) -> None:
        self._body = body
        self._count = count
        self._at = 0

    def next(self) -> Sequence[int]:
        """Return the next column. Raises BadChunk, LookupError, ValueError, struct.error."""
        width, first = _BEGIN.unpack_from(self._body, self._at)
        begin = self._at + _BEGIN.size
        self._at = begin + width * self._count
        if width == _SAME:
            return [first] * self._count
        differences = array(_WIDTHS[width], self._body[begin : self._at])
        if len(differences) != self._count:
            raise BadChunk("a chunk that is cut off")
        if sys.byteorder == "big":
            differences.byteswap()
        numbers = accumulate(differences, initial=first)
        next(numbers)
        return list(numbers)

    def codes(self) -> Codes:
        """Return the next three columns, which are those of a metric. Raises as `next` does."""
        body, at = self._body, self._at
        # Most metrics stay the same while a piece lasts.
        if body[at : at + _ALL_SAME.size : _BEGIN.size] == b"\0\0\0":
            _, mean, _, below, _, above = _ALL_SAME.unpack_from(body, at)
            self._at = at + _ALL_SAME.size
            return Codes.same(mean, below, above, self._count)
        return Codes(self.next(), self.next(), self.next())

    def skip(self, columns: int) -> None:
        """Pass over columns. Raises LookupError."""
        for _ in range(columns):
            self._at += _BEGIN.size + self._body[self._at] * self._count
