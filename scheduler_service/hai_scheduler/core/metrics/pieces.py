"""Pieces of series as the supervisors of ranks pack them (`hai_client.metrics.packing`), and as they are stored first.

The columns of all metrics as codes (`codes`), as differences of neighbours, each as wide as it needs to be, compressed
together. Until version 1.4 all chunks of the store had this form. A piece comes from a job's node, so everything of it
is checked before it is stored.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Final

from hai_scheduler.core.metrics.codes import BadChunk, Codes
from hai_scheduler.core.metrics.columns import PackedColumns
from hai_scheduler.core.metrics.own_numbers import own_columns
from hai_scheduler.core.metrics.series import is_wanted

#: The first byte of a piece.
PIECE_FORM: Final = 2
#: Bytes of an element of a column, and what `array` calls it; 0: the column stays the same.
_WIDTHS: Final = {1: "b", 2: "h", 8: "q"}
_SAME: Final = 0
#: What a column begins with: the width of its differences, and its first number.
_BEGIN: Final = struct.Struct("<Bq")
#: The three columns of a metric that stays the same.
_ALL_SAME: Final = struct.Struct("<BqBqBq")
#: Most bytes of an unpacked piece: more is no piece of ours.
_MOST_BYTES: Final = 32 * 2**20
#: Most points of a chunk: those of ten seconds in four days.
_MOST_POINTS: Final = 35_000
#: Most bytes of what is said before the columns, and most metrics of a piece.
_MOST_HEAD: Final = 2**20
MOST_NAMES: Final = 1000


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
