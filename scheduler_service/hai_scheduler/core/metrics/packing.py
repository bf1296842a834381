"""Packs points of a series into few bytes, for the store.

A number is kept to about half a per cent, as a code: 0 is "no value", 1 is zero, and above that the codes grow with the
logarithm of the number. What a rank uses changes little from one span to the next, so that most differences of codes
are small: they are written as variable-length integers, column by column, and compressed. An hour of eight GPUs, in
spans of ten seconds, takes about ten kilobytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import log10
from typing import Final

from hai_scheduler.core.metrics.own_numbers import own_columns, own_head
from hai_scheduler.core.metrics.series import OWN, Point, Spread

#: The first byte of a chunk: the form that follows.
FORM: Final = 1
#: Numbers below the least count as zero, those above the greatest as the greatest.
_LEAST: Final = 1e-4
_GREATEST: Final = 1e18
_ZERO: Final = 1
#: Codes for each power of ten: neighbours differ by 1.2 %.
_BY_TEN: Final = 200
#: The code of 1.
_ONE: Final = 2 + round(-log10(_LEAST) * _BY_TEN)
#: Before a column: whether it is one value, or all of them.
_SAME: Final = 0
_ALL: Final = 1
#: Most bytes of an unpacked chunk: more is no chunk of ours.
_MOST_BYTES: Final = 32 * 2**20


class BadChunk(ValueError):
    """The bytes are no chunk, or one of a version that is not known."""


def pack(points: Sequence[Point]) -> bytes:
    """Return points, in order of time, as bytes."""
    names = sorted({name for point in points for name in point.values if not name.startswith(OWN)})
    body = bytearray()
    _write(body, _differences([point.at for point in points]))
    for name in names:
        spreads = [point.values.get(name) for point in points]
        means = [0 if spread is None else code_of(spread.mean) for spread in spreads]
        _write_column(body, means, signed=True)
        # The least and the greatest value are near the mean: their distance from it is small and has no sign.
        pairs = list(zip(spreads, means, strict=True))
        _write_column(body, [0 if s is None else max(0, mean - code_of(s.least)) for s, mean in pairs])
        _write_column(body, [0 if s is None else max(0, code_of(s.greatest) - mean) for s, mean in pairs])
    own = {"own": found} if (found := own_head(points)) else {}
    head = json.dumps({"names": names, "points": len(points), **own}, separators=(",", ":")).encode()
    return bytes((FORM,)) + zlib.compress(head + b"\n" + body, 6)


def unpack(chunk: bytes) -> list[Point]:
    """Return the points of a chunk. Raises BadChunk."""
    if chunk[:1] != bytes((FORM,)):
        raise BadChunk(f"a chunk of form {chunk[:1].hex() or 'nothing'}")
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(chunk[1:], _MOST_BYTES)
        if not inflate.eof:
            raise BadChunk("a chunk that is cut off or too large")
        head, _, body = data.partition(b"\n")
        said = json.loads(head)
        names, count = said["names"], said["points"]
        numbers = _read(body)
        times = _sums(list(islice(numbers, count)))
        if len(times) != count:
            raise BadChunk("a chunk that is cut off")
        columns = {name: _column(numbers, count) for name in names}
        columns.update(own_columns(said.get("own", {}), count))
    except BadChunk:
        raise
    except (zlib.error, ValueError, LookupError, TypeError, AttributeError, RuntimeError, StopIteration) as error:
        raise BadChunk(f"a damaged chunk ({type(error).__name__})") from error
    return [
        Point(at, {name: spread for name, column in columns.items() if (spread := column[index]) is not None})
        for index, at in enumerate(times)
    ]


@lru_cache(maxsize=1 << 14)
def code_of(value: float) -> int:
    """Return the code of a number that is not negative."""
    return _ZERO if value < _LEAST else _ONE + round(log10(min(value, _GREATEST)) * _BY_TEN)


@lru_cache(maxsize=1 << 13)
def value_of(code: int) -> float:
    """Return the number that a code stands for."""
    return 0.0 if code <= _ZERO else float(10.0 ** ((code - _ONE) / _BY_TEN))


def _column(numbers: Iterator[int], count: int) -> list[Spread | None]:
    means, below, above = (
        _read_column(numbers, count, signed=True),
        _read_column(numbers, count),
        _read_column(numbers, count),
    )
    return [
        None if mean == 0 else Spread(value_of(mean - low), value_of(mean), value_of(mean + high))
        for mean, low, high in zip(means, below, above, strict=True)
    ]


def _write_column(body: bytearray, values: Sequence[int], *, signed: bool = False) -> None:
    """Write whether all values are the same, and then one of them or all; `signed`: as differences of neighbours."""
    if values and values.count(values[0]) == len(values):
        _write(body, (_SAME, values[0]))
    else:
        _write(body, (_ALL,))
        _write(body, _differences(values) if signed else values)


def _read_column(numbers: Iterator[int], count: int, *, signed: bool = False) -> list[int]:
    if next(numbers) == _SAME:
        return [next(numbers)] * count
    found = list(islice(numbers, count))
    if len(found) != count:
        raise BadChunk("a chunk that is cut off")
    return _sums(found) if signed else found


def _differences(values: Sequence[int]) -> Iterator[int]:
    """The differences of neighbours, with the sign in the last bit."""
    before = 0
    for value in values:
        difference, before = value - before, value
        yield difference * 2 if difference >= 0 else -difference * 2 - 1


def _sums(differences: Sequence[int]) -> list[int]:
    total, values = 0, []
    for difference in differences:
        total += -(difference + 1) // 2 if difference & 1 else difference // 2
        values.append(total)
    return values


def _write(body: bytearray, values: Iterable[int]) -> None:
    for value in values:
        while value >= 0x80:
            body.append(value & 0x7F | 0x80)
            value >>= 7
        body.append(value)


def _read(data: bytes) -> Iterator[int]:
    value, shift = 0, 0
    for byte in data:
        if byte < 0x80:
            yield value | byte << shift if shift else byte
            value, shift = 0, 0
        else:
            value |= (byte & 0x7F) << shift
            shift += 7
