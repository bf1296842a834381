"""Packs points for the way to the service, in the form in which it stores them first.

The service has the same form in `hai_scheduler.core.metrics.packing`, and numbers have the codes of
`hai_scheduler.core.metrics.codes`: tests hold the two against each other. Packed by its rank, a piece costs the service
a fraction of what the same points cost it as JSON.
"""

from __future__ import annotations

import json
import struct
import zlib
from math import log10

from hai_client.metrics.window import OWN, PACKED_FORM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_LEAST = 1e-4
_GREATEST = 1e18
_ZERO = 1
_BY_TEN = 200
_ONE = 2 + 4 * _BY_TEN
_WIDTHS = ((1, "b"), (2, "h"), (8, "q"))


def packed(points: Sequence[Mapping[str, Any]]) -> bytes:
    """Return points, in order of time, as bytes: those that `hai_client.metrics.sampler` hands on."""
    names = sorted({name for point in points for name in point["values"] if not name.startswith(OWN)})
    body = bytearray()
    _write(body, [point["at"] for point in points])
    for name in names:
        spreads = [point["values"].get(name) for point in points]
        means = [0 if spread is None else _code(spread[1]) for spread in spreads]
        _write(body, means)
        _write(body, [0 if s is None else max(0, mean - _code(s[0])) for s, mean in zip(spreads, means)])
        _write(body, [0 if s is None else max(0, _code(s[2]) - mean) for s, mean in zip(spreads, means)])
    head = {"names": names, "points": len(points)}
    own = _own(points)
    if own:
        head["own"] = own
    text = json.dumps(head, separators=(",", ":")).encode()
    return bytes((PACKED_FORM,)) + zlib.compress(text + b"\n" + bytes(body), 6)


def _code(value: float) -> int:
    """Return the code of a number that is not negative."""
    return _ZERO if value < _LEAST else _ONE + round(log10(min(value, _GREATEST)) * _BY_TEN)


def _own(points: Sequence[Mapping[str, Any]]) -> dict[str, list[list[float]]]:
    """Return the job's own numbers by name: the places of their points, the means, the least and greatest values."""
    found: dict[str, list[list[float]]] = {}
    for place, point in enumerate(points):
        for name, (least, mean, greatest) in point["values"].items():
            if name.startswith(OWN):
                for column, value in zip(found.setdefault(name, [[], [], [], []]), (place, mean, least, greatest)):
                    column.append(value)
    return found


def _write(body: bytearray, values: Sequence[int]) -> None:
    """Write a column: how wide its numbers are, the first one, and the differences of neighbours unless all are 0."""
    first = values[0] if values else 0
    differences = [value - before for value, before in zip(values, [first, *values])]
    low, high = min(differences, default=0), max(differences, default=0)
    width, kind = 0, ""
    if low or high:
        width, kind = next(one for one in _WIDTHS if -(1 << 8 * one[0] - 1) <= low and high < 1 << 8 * one[0] - 1)
    body.append(width)
    body += first.to_bytes(8, "little", signed=True)
    if kind:
        body += struct.pack(f"<{len(differences)}{kind}", *differences)
