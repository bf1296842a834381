"""The form of pieces, which all chunks of earlier versions had."""

from __future__ import annotations

import pytest

from hai_client.metrics.packing import packed
from hai_scheduler.core.metrics.codes import BadChunk
from hai_scheduler.core.metrics.packing import pack, unpack
from hai_scheduler.core.metrics.pieces import read_columns
from hai_scheduler.core.metrics.series import Point, Spread

NAMES = ("cpu", "gpu0_use", "job_loss", "memory")
#: More points than a piece may have, as in a chunk of a day.
POINTS = [{"at": 60 * n, "values": {name: [n, n + 1, n + 5] for name in NAMES}} for n in range(1, 1441)]
HOUR = packed(POINTS)


def as_point(point: dict) -> Point:
    return Point(point["at"], {name: Spread(*values) for name, values in point["values"].items()})


def test_a_chunk_of_an_earlier_version_is_read_as_one_of_this() -> None:
    assert unpack(HOUR) == unpack(pack([as_point(point) for point in POINTS]))


@pytest.mark.parametrize("names", [["cpu"], ["memory", "gpu0_use"], ["job_*"], ["ib_sent"], []])
def test_columns_that_are_not_wanted_are_passed_over(names: list[str]) -> None:
    whole, some = read_columns(HOUR), read_columns(HOUR, names)
    wanted = {"job_loss"} if names == ["job_*"] else set(names) & set(NAMES)
    assert {*some.codes, *some.own} == wanted
    for point, full in zip(some.points(), whole.points(), strict=True):
        assert point == Point(full.at, {name: full.values[name] for name in sorted(wanted)})
    assert some.last() == some.points()[-1]


def test_a_reader_may_bound_what_it_takes() -> None:
    with pytest.raises(BadChunk, match="1440 points"):
        read_columns(HOUR, points=1439)
    with pytest.raises(BadChunk, match="too large"):
        read_columns(HOUR, most=10_000)
    assert len(read_columns(HOUR, points=1440).ends) == 1440


def test_another_form_is_refused() -> None:
    for data in (b"", b"\x01x", pack([])):
        with pytest.raises(BadChunk, match="form"):
            read_columns(data)
