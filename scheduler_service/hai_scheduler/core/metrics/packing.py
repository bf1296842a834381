"""Packs points of a series into few bytes, for the store.

A number is kept to about half a per cent, as a code: 0 is "no value", 1 is zero, and above that the codes grow with the
logarithm of the number. What a rank uses changes little from one span to the next, so that most differences of codes
fit into a byte. They are written column by column, each as wide as it needs to be, and compressed. An hour of eight
GPUs, in spans of ten seconds, takes about ten kilobytes. A reader passes over the columns that it does not want.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from math import log10
from typing import Final

from hai_scheduler.core.metrics.own_numbers import own_columns, own_head
from hai_scheduler.core.metrics.series import OWN, Point, Spread, is_wanted

#: The first byte of a chunk: the form that follows.
FORM: Final = 2
#: Numbers below the least count as zero, those above the greatest as the greatest.
_LEAST: Final = 1e-4
_GREATEST: Final = 1e18
_ZERO: Final = 1
#: Codes for each power of ten: neighbours differ by 1.2 %.
_BY_TEN: Final = 200
#: The code of 1.
_ONE: Final = 2 + round(-log10(_LEAST) * _BY_TEN)
#: The greatest code.
_LAST: Final = _ONE + round(log10(_GREATEST) * _BY_TEN)
#: How the differences of a column are written: its first byte says in how many bytes each, or that there are none.
_WIDTHS: Final = {1: "b", 2: "h", 8: "q"}
_SAME: Final = 0
#: Bytes of the first number of a column.
_FIRST: Final = 8
#: Most bytes of an unpacked chunk: more is no chunk of ours.
_MOST_BYTES: Final = 32 * 2**20


class BadChunk(ValueError):
    """The bytes are no chunk, or one of a version that is not known."""


def pack(points: Sequence[Point]) -> bytes:
    """Return points, in order of time, as bytes."""
    names = sorted({name for point in points for name in point.values if not name.startswith(OWN)})
    body = bytearray()
    _write(body, [point.at for point in points])
    for name in names:
        spreads = [point.values.get(name) for point in points]
        means = [0 if spread is None else code_of(spread.mean) for spread in spreads]
        _write(body, means)
        # The least and the greatest value are near the mean: their distance from it is small.
        pairs = list(zip(spreads, means, strict=True))
        # Of a value that stays the same the distances need no logarithm.
        _write(body, [0 if s is None or s.least == s.mean else max(0, mean - code_of(s.least)) for s, mean in pairs])
        _write(
            body,
            [0 if s is None or s.greatest == s.mean else max(0, code_of(s.greatest) - mean) for s, mean in pairs],
        )
    own = {"own": found} if (found := own_head(points)) else {}
    head = json.dumps({"names": names, "points": len(points), **own}, separators=(",", ":")).encode()
    return bytes((FORM,)) + zlib.compress(head + b"\n" + body, 6)


def unpack(chunk: bytes, names: Collection[str] | None = None) -> list[Point]:
    """Return the points of a chunk, with these metrics alone (None: with all). Raises BadChunk."""
    if chunk[:1] != bytes((FORM,)):
        raise BadChunk(f"a chunk of form {chunk[:1].hex() or 'nothing'}")
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(chunk[1:], _MOST_BYTES)
        if not inflate.eof:
            raise BadChunk("a chunk that is cut off or too large")
        head, _, body = data.partition(b"\n")
        said = json.loads(head)
        reader = _Columns(body, said["points"])
        times = reader.next()
        columns = {}
        for name in said["names"]:
            if is_wanted(name, names):
                columns[name] = reader.spreads()
            else:
                reader.skip(3)
        own = {name: found for name, found in said.get("own", {}).items() if is_wanted(name, names)}
        columns.update(own_columns(own, said["points"]))
    except BadChunk:
        raise
    except (zlib.error, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadChunk(f"a damaged chunk ({type(error).__name__})") from error
    if any(None in column for column in columns.values()):
        return [
            Point(at, {name: spread for name, column in columns.items() if (spread := column[index]) is not None})
            for index, at in enumerate(times)
        ]
    if not columns:
        return [Point(at, {}) for at in times]
    found = tuple(columns)
    rows = zip(*columns.values(), strict=True)
    return [Point(at, dict(zip(found, row, strict=True))) for at, row in zip(times, rows, strict=True)]


@lru_cache(maxsize=1 << 14)
def code_of(value: float) -> int:
    """Return the code of a number that is not negative."""
    return _ZERO if value < _LEAST else _ONE + round(log10(min(value, _GREATEST)) * _BY_TEN)


@lru_cache(maxsize=1 << 13)
def value_of(code: int) -> float:
    """Return the number that a code stands for."""
    return 0.0 if code <= _ZERO else float(10.0 ** ((code - _ONE) / _BY_TEN))


@cache
def _values() -> list[float]:
    """The numbers of all codes, by code."""
    return [value_of(code) for code in range(_LAST + 1)]


class _Columns:
    """The columns of a chunk, one after the other.

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

    def spreads(self) -> list[Spread | None]:
        """Return the next three columns as the values of a metric. Raises BadChunk, LookupError, ValueError."""
        means, below, above = self.next(), self.next(), self.next()
        if min(means, default=0) < 0:
            raise BadChunk("a chunk with a code that does not exist")
        values = _values()
        if min(means, default=0) > 0:
            return [
                Spread(values[mean - low], values[mean], values[mean + high])
                for mean, low, high in zip(means, below, above, strict=True)
            ]
        return [
            None if mean == 0 else Spread(values[mean - low], values[mean], values[mean + high])
            for mean, low, high in zip(means, below, above, strict=True)
        ]

    def skip(self, columns: int) -> None:
        """Pass over columns. Raises LookupError."""
        for _ in range(columns):
            self._at += 1 + _FIRST + self._body[self._at] * self._count

    def _cut(self, begin: int, size: int) -> bytes:
        found = self._body[begin : begin + size]
        if len(found) != size:
            raise BadChunk("a chunk that is cut off")
        return found


def _write(body: bytearray, values: Sequence[int]) -> None:
    """Write a column: how wide its numbers are, the first one, and the differences of neighbours unless all are 0."""
    first = values[0] if values else 0
    differences = [value - before for value, before in zip(values, [first, *values], strict=False)]
    low, high = min(differences, default=0), max(differences, default=0)
    width = (
        _SAME if low == high == 0 else next(w for w in _WIDTHS if -(1 << 8 * w - 1) <= low and high < 1 << 8 * w - 1)
    )
    body.append(width)
    body += first.to_bytes(_FIRST, "little", signed=True)
    if width != _SAME:
        numbers = array(_WIDTHS[width], differences)
        if sys.byteorder == "big":
            numbers.byteswap()
        body += numbers.tobytes()
