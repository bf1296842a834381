"""Pieces as they come from jobs' nodes: whatever is wrong in one is found before it is stored."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.metrics.codes import LAST, BadChunk
from hai_scheduler.core.metrics.packing import FORM, MOST_NAMES
from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.metrics.series_piece import MOST_POINTS, SeriesPiece, read_piece


def column(*values: int) -> bytes:
    """A column as eight bytes each."""
    before = values[0] if values else 0
    body = bytearray((8,)) + before.to_bytes(8, "little", signed=True)
    for value in values:
        body += (value - before).to_bytes(8, "little", signed=True)
        before = value
    return bytes(body)


def same(value: int) -> bytes:
    return b"\0" + value.to_bytes(8, "little", signed=True)


def a_piece(head: object, *columns: bytes) -> bytes:
    return bytes((FORM,)) + zlib.compress(json.dumps(head).encode() + b"\n" + b"".join(columns))


def one(name: object, *codes: int, own: object = None, points: object = 2) -> bytes:
    """A piece of two points with one metric, with these codes for mean, below and above."""
    names = [] if name is None else [name]
    head = {"names": names, "points": points, **({} if own is None else {"own": own})}
    return a_piece(head, column(10, 20), *(column(code, code) for code in codes))


def test_a_piece_is_read() -> None:
    piece = read_piece(one("cpu", 802, 0, 0, own={"job_loss": [[1], [-2.5]]}))
    assert piece.points() == [
        Point(10, {"cpu": Spread(1, 1, 1)}),
        Point(20, {"cpu": Spread(1, 1, 1), "job_loss": Spread(-2.5, -2.5, -2.5)}),
    ]
    assert piece.columns.last() == piece.points()[-1]
    assert (list(piece.ends), piece.own_names) == ([10, 20], ["job_loss"])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "form nothing"),
        (b"\x03abc", "form 03"),
        (bytes((FORM,)) + b"no zlib", "damaged"),
        (one("cpu", 802, 0, 0)[:-4], "cut off"),
        (one("cpu", 802, 0), "damaged"),
        (one("loss", 802, 0, 0), "'loss' is not a metric"),
        (one("job_loss", 802, 0, 0), "'job_loss' is not a metric"),
        (one(7, 802, 0, 0), "7 is not a metric"),
        (one(["cpu"], 802, 0, 0), "damaged"),
        (one("cpu", -1, 0, 0), "does not exist"),
        (one("cpu", LAST + 1, 0, 0), "does not exist"),
        (one("cpu", 802, 802, 0), "does not exist"),
        (one("cpu", 802, 0, LAST), "does not exist"),
        (one("cpu", 2**62, 0, 0), "does not exist"),
        (one("cpu", 802, 0, 0, points=MOST_POINTS + 1), f"with {MOST_POINTS + 1} points"),
        (one("cpu", 802, 0, 0, points=-1), "with -1 points"),
        (one("cpu", 802, 0, 0, points=1.5), "damaged"),
        (one("cpu", 802, 0, 0, points="2"), "damaged"),
        (a_piece({"names": [], "points": 10**12}, same(10)), "points"),
        (a_piece({"names": ["cpu"] * 3, "points": MOST_POINTS}, same(10)), "damaged"),
        (one(None, own={"loss": [[0], [1]]}), "'loss' is not a name"),
        (one(None, own={"job_a b": [[0], [1]]}), "'job_a b' is not a name"),
        (one(None, own={"job_a": [[0], [float("nan")]]}), "job_a: not the least"),
        (one(None, own={"job_a": [[0], [float("inf")]]}), "job_a: not the least"),
        (one(None, own={"job_a": [[0], [1e19]]}), "job_a: not the least"),
        (one(None, own={"job_a": [[0], [1], [3], [2]]}), "job_a: not the least"),
        (one(None, own={"job_a": [[2], [1]]}), "damaged"),
        (one(None, own={"job_a": [[0, 1], [1]]}), "damaged"),
        (one(None, own={"job_a": 1}), "damaged"),
        (one(None, own=[1]), "damaged"),
        (bytes((FORM,)) + zlib.compress(b"[" * 100_000 + b"\n"), "damaged"),
        (bytes((FORM,)) + zlib.compress(bytes(40 * 2**20), 9), "too large"),
    ],
)
def test_what_is_no_piece_is_refused_and_says_why(data: bytes, says: str) -> None:
    with pytest.raises(BadChunk, match=says):
        read_piece(data)


def test_names_are_bounded() -> None:
    own = {f"job_n{number}": [[0], [1]] for number in range(MOST_NAMES + 1)}
    with pytest.raises(BadChunk, match=f"more than {MOST_NAMES} metrics"):
        read_piece(one(None, own=own))
    # Columns that stay the same take 27 bytes, and would become as many lists as there are points.
    said = a_piece({"names": ["cpu"] * 100_000, "points": MOST_POINTS}, same(10), *[same(0)] * 300_000)
    with pytest.raises(BadChunk, match=f"more than {MOST_NAMES} metrics"):
        read_piece(said)


def test_what_stands_before_the_columns_is_bounded() -> None:
    with pytest.raises(BadChunk, match="before its columns"):
        read_piece(a_piece({"names": [], "points": 0, "own": {"x" * 2**20: 1}}))


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_bytes_of_chance_are_refused_or_read(head: bytes, body: bytes) -> None:
    for data in (head, bytes((FORM,)) + zlib.compress(head + b"\n" + body)):
        with pytest.raises(BadChunk):
            read_piece(data)


@given(st.data())
def test_a_piece_with_some_bytes_changed_is_refused_or_a_piece(data: st.DataObject) -> None:
    inside = bytearray(zlib.decompress(one("cpu", 802, 3, 4, own={"job_loss": [[1], [-2.5]]})[1:]))
    for _ in range(data.draw(st.integers(1, 3))):
        inside[data.draw(st.integers(0, len(inside) - 1))] = data.draw(st.integers(0, 255))
    try:
        piece = read_piece(bytes((FORM,)) + zlib.compress(bytes(inside)))
    except BadChunk:
        return
    # What is taken can be read again, packed and folded.
    assert SeriesPiece.of(piece.points()).points() == piece.points()


def test_a_piece_of_no_points_is_one() -> None:
    assert (list(SeriesPiece.of([]).ends), SeriesPiece.of([]).points()) == ([], [])
