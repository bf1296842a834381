"""Packs points of a series into few bytes, for the store.

What a rank uses changes little from one span to the next, so that most differences of codes (`codes`) are small. The
metrics of a kind, such as the use of eight GPUs, have differences of the same sizes: they are written together, the
means as their differences, and the distances of the least and the greatest value as one number, because they mostly are
about the same. A metric that stays the same costs nothing but its name. An hour of eight GPUs, in spans of ten seconds,
takes about ten kilobytes. A reader decompresses only the kinds that it wants.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

from hai_scheduler.core.metrics.codes import NONE, BadChunk, Codes
from hai_scheduler.core.metrics.columns import PackedColumns
from hai_scheduler.core.metrics.own_numbers import own_columns, own_head
from hai_scheduler.core.metrics.pieces import PIECE_FORM, read_columns
from hai_scheduler.core.metrics.series import Point, is_wanted

#: The first byte of a chunk: the form that follows.
FORM: Final = 3
#: Most bytes of an unpacked chunk: more is no chunk of ours.
_MOST_BYTES: Final = 32 * 2**20
#: The byte of a number that is written among the wide ones of its kind.
_WIDE: Final = 255
#: Pairs of distances whose sum is less than this have a byte of their own.
_SUMS: Final = 22
_PAIRS: Final = [(low, total - low) for total in range(_SUMS) for low in range(total + 1)]
_BYTE_OF_PAIR: Final = {pair: byte for byte, pair in enumerate(_PAIRS)}
_LOWS: Final = bytes(low for low, _ in _PAIRS).ljust(256, b"\0")
_HIGHS: Final = bytes(high for _, high in _PAIRS).ljust(256, b"\0")
#: The bytes of differences: 0, -1, 1, -2, 2, ...; what stands for them, as signed bytes.
_BYTE_OF_DIFFERENCE: Final = {(-(n + 1) // 2 if n % 2 else n // 2): n for n in range(_WIDE)}
_DIFFERENCES: Final = bytes(difference & 0xFF for difference in _BYTE_OF_DIFFERENCE).ljust(256, b"\0")
_DIGITS: Final = re.compile(r"(?<=^gpu)[0-9]+")


def pack(points: Sequence[Point]) -> bytes:
    """Return points, in order of time, as bytes."""
    return pack_columns(PackedColumns.of(points))


def pack_columns(columns: PackedColumns) -> bytes:
    """Return columns, in order of time, as bytes."""
    same: dict[str, list[int]] = {}
    moving: dict[str, dict[str, Codes]] = {}
    for name, codes in sorted(columns.codes.items()):
        if not codes.is_same():
            moving.setdefault(_kind(name), {})[name] = codes
        elif codes.means[0] != NONE:
            same[name] = [codes.means[0], codes.below[0], codes.above[0]]
    body, kinds = bytearray(), []
    for metrics in moving.values():
        parts = [_deflated(part) for part in _parts(list(metrics.values()))]
        body += b"".join(parts)
        kinds.append([list(metrics), [codes.means[0] for codes in metrics.values()], [len(part) for part in parts]])
    own = own_head(columns.own)
    head = {"spans": _spans(columns.ends), "same": same, "kinds": kinds, **({"own": own} if own else {})}
    return bytes((FORM,)) + zlib.compress(json.dumps(head, separators=(",", ":")).encode(), 9) + body


def unpack(chunk: bytes, names: Collection[str] | None = None) -> list[Point]:
    """Return the points of a chunk or a piece, with these metrics alone (None: with all). Raises BadChunk."""
    columns = columns_of(chunk, names)
    columns.check()
    return columns.points()


def unpack_last(chunk: bytes, names: Collection[str] | None = None) -> Point:
    """Return the last point of a chunk or a piece, as `unpack` does. Raises BadChunk, also if it has no points."""
    found = columns_of(chunk, names)
    found.check()
    if not found.ends:
        raise BadChunk("a chunk without points")
    return found.last()


def columns_of(chunk: bytes, names: Collection[str] | None = None) -> PackedColumns:
    """Return the columns of a chunk or a piece, unchecked as by `read_columns`. Raises BadChunk."""
    if chunk[:1] == bytes((PIECE_FORM,)):
        return read_columns(chunk, names)
    if chunk[:1] != bytes((FORM,)):
        raise BadChunk(f"a chunk of form {chunk[:1].hex() or 'nothing'}")
    try:
        return _read(chunk, names)
    except BadChunk:
        raise
    except (zlib.error, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BadChunk(f"a damaged chunk ({type(error).__name__})") from error


def _read(chunk: bytes, names: Collection[str] | None) -> PackedColumns:
    inflate = zlib.decompressobj()
    head = inflate.decompress(chunk[1:], _MOST_BYTES)
    if not inflate.eof:
        raise BadChunk("a chunk that is cut off or too large")
    body, said = inflate.unused_data, json.loads(head)
    ends = [at for first, step, count in said["spans"] for at in range(first, first + step * count, step)]
    columns = {
        name: Codes.same(mean, below, above, len(ends))
        for name, (mean, below, above) in said["same"].items()
        if is_wanted(name, names)
    }
    begin = 0
    for metrics, firsts, sizes in said["kinds"]:
        if any(is_wanted(name, names) for name in metrics):
            columns.update(_of_kind(_cut(body, begin, sizes), metrics, firsts, len(ends), names))
        begin += sum(sizes)
    own = {name: found for name, found in said.get("own", {}).items() if is_wanted(name, names)}
    return PackedColumns(ends, columns, own_columns(own, len(ends)))


def _kind(name: str) -> str:
    """Return what the metrics have in common that move alike: `gpu_use` for `gpu0_use`."""
    return _DIGITS.sub("", name)


def _spans(ends: Sequence[int]) -> list[list[int]]:
    """Return times as the first one, the step and the count of points that follow in equal steps."""
    spans: list[list[int]] = []
    for at in ends:
        last = spans[-1] if spans else None
        if last is not None and last[2] == 1 and at > last[0]:
            spans[-1] = [last[0], at - last[0], 2]
        elif last is not None and last[2] > 1 and at == last[0] + last[1] * last[2]:
            last[2] += 1
        else:
            spans.append([at, 1, 1])
    return spans


def _parts(metrics: Sequence[Codes]) -> tuple[bytes, bytes, bytes]:
    """Return the differences of the means and the pairs of distances, a byte each, and those that need more."""
    means, pairs, wide = bytearray(), bytearray(), array("h")
    for codes in metrics:
        before = codes.means[0]
        for mean in codes.means:
            byte = _BYTE_OF_DIFFERENCE.get(mean - before, _WIDE)
            means.append(byte)
            if byte == _WIDE:
                wide.append(mean - before)
            before = mean
        for pair in zip(codes.below, codes.above, strict=True):
            byte = _BYTE_OF_PAIR.get(pair, _WIDE)
            pairs.append(byte)
            if byte == _WIDE:
                wide.extend(pair)
    if sys.byteorder == "big":
        wide.byteswap()
    return bytes(means), bytes(pairs), wide.tobytes()


def _deflated(data: bytes) -> bytes:
    """Return bytes in fewer ones: chance has no repetitions to look for, and what repeats itself has."""
    if not data:
        return b""
    tried = []
    for strategy in (zlib.Z_HUFFMAN_ONLY, zlib.Z_DEFAULT_STRATEGY):
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15, 8, strategy)
        tried.append(deflate.compress(data) + deflate.flush())
    return min(tried, key=len)


def _cut(body: bytes, begin: int, sizes: Sequence[int]) -> list[bytes]:
    """Return the decompressed parts of a kind. Raises BadChunk, zlib.error."""
    found = []
    for size in sizes:
        part = body[begin : begin + size]
        inflate = zlib.decompressobj(-15)
        found.append(inflate.decompress(part, _MOST_BYTES) if size else b"")
        if len(part) != size or (size and not inflate.eof):
            raise BadChunk("a chunk that is cut off or too large")
        begin += size
    return found


def _of_kind(
    parts: Sequence[bytes], metrics: Sequence[str], firsts: Sequence[int], count: int, names: Collection[str] | None
) -> Iterator[tuple[str, Codes]]:
    """Return the wanted metrics of a kind. Raises BadChunk, LookupError, ValueError."""
    means, pairs, wide = parts
    if not len(means) == len(pairs) == count * len(metrics) == count * len(firsts):
        raise BadChunk("a chunk that is cut off")
    numbers = array("h", wide)
    if sys.byteorder == "big":
        numbers.byteswap()
    rest = iter(numbers)
    for index, (name, first) in enumerate(zip(metrics, firsts, strict=True)):
        part = slice(index * count, (index + 1) * count)
        codes = Codes(_means(means[part], first, rest), *_distances(pairs[part], rest))
        if is_wanted(name, names):
            yield name, codes


def _means(part: bytes, first: int, rest: Iterator[int]) -> Sequence[int]:
    differences: Any = array("b", part.translate(_DIFFERENCES))
    if _WIDE in part:
        differences = [_next(rest) if byte == _WIDE else one for byte, one in zip(part, differences, strict=True)]
    return list(accumulate(differences, initial=first))[1:]


def _distances(part: bytes, rest: Iterator[int]) -> tuple[Sequence[int], Sequence[int]]:
    below, above = part.translate(_LOWS), part.translate(_HIGHS)
    if _WIDE not in part:
        return below, above
    wide = [(_next(rest), _next(rest)) if byte == _WIDE else (below[n], above[n]) for n, byte in enumerate(part)]
    return [low for low, _ in wide], [high for _, high in wide]


def _next(numbers: Iterator[int]) -> int:
    for number in numbers:
        return number
    raise BadChunk("a chunk that is cut off")
