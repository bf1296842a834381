"""Files are read line by line, and what cannot be read is named with its line, its value and the remedy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hai_scheduler.sim.formats import FORMATS
from hai_scheduler.sim.formats.errors import TraceError
from hai_scheduler.sim.formats.source import MOST, TraceSource
from hai_scheduler.sim.formats.trace import TraceReading
from unit.sim.formats.trace_files import PHILLY, assert_refused


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none\.csv: cannot be read: No such file"):
        FORMATS["philly"](str(tmp_path / "none.csv"), TraceReading())
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00\x9d")
    with pytest.raises(TraceError, match="not UTF-8"):
        FORMATS["philly"](str(tmp_path / "noise"), TraceReading())


BAD_FILES = {
    "a column is missing": ("philly", "timestamp,duration,num_gpus\n", "line 1: columns", "cluster is missing"),
    "nothing in it": ("philly", "", "line 1: columns", "are missing"),
    "no jobs": ("philly", PHILLY, "has no jobs", "name a file"),
    "a negative duration": ("philly", PHILLY + "2017-10-01,-3,1,1,a\n", "line 2: duration is '-3'", "0 or more"),
    "no number": ("philly", PHILLY + "2017-10-01,nan,1,1,a\n", "line 2: duration is 'nan'", "0 or more"),
    "more than ten years": ("philly", PHILLY + "2017-10-01,1e12,1,1,a\n", "line 2: duration", "ten years"),
    "negative gpus": ("philly", PHILLY + "2017-10-01,3,-1,1,a\n", "line 2: num_gpus is '-1'", "from 1"),
    "half a gpu": ("philly", PHILLY + "2017-10-01,3,1.5,1,a\n", "line 2: num_gpus is '1.5'", "whole number"),
    "endless gpus": ("philly", PHILLY + "2017-10-01,3,inf,1,a\n", "line 2: num_gpus is 'inf'", "whole number"),
    "no time": ("philly", PHILLY + "soon,3,1,1,a\n", "line 2: timestamp is 'soon'", "2026-01-05T08:00:00Z"),
    "a time of another age": ("philly", PHILLY + "0017-10-01,3,1,1,a\n", "line 2: timestamp", "1970 to 2200"),
    "a torn line": ("philly", PHILLY + "2017-10-01,3\n", "line 2: has 2 fields, not 5", "repair"),
    "another format": ("muri", PHILLY + "2017-10-01,3,1,1,a\n", "line 1: columns", "another --format"),
}


@pytest.mark.parametrize(("kind", "text", "where", "remedy"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_with_place_value_and_remedy(
    tmp_path: Path, kind: str, text: str, where: str, remedy: str
) -> None:
    assert_refused(tmp_path, kind, text, where, remedy)


def source(folder: Path, text: str) -> TraceSource:
    (folder / "file").write_text(text, encoding="utf-8", newline="")
    return TraceSource(str(folder / "file"))


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    file = source(tmp_path, "\n a\n\t\nb")
    assert [(line.strip(), file.line) for line in file.lines()] == [("a", 2), ("b", 4)]


def test_the_mark_that_some_programs_put_first_is_no_part_of_a_title(tmp_path: Path) -> None:
    assert list(source(tmp_path, "\ufeffa,b\n1,2\n").rows(("a",))) == [["1"]]


def test_columns_come_in_the_order_in_which_they_are_asked_for(tmp_path: Path) -> None:
    assert list(source(tmp_path, "a,b,c\r\n1,2,3\r\n\r\n4,5,6\r\n").rows(("c", "a"))) == [["3", "1"], ["6", "4"]]


def test_objects_are_without_empty_values(tmp_path: Path) -> None:
    assert list(source(tmp_path, 'a,b\n1,\n"x, y",2\n').objects(("a",))) == [{"a": "1"}, {"a": "x, y", "b": "2"}]


def test_a_line_with_too_many_fields_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="line 3: has 3 fields, not 2"):
        list(source(tmp_path, "a,b\n1,2\n1,2,3\n").objects(("a",)))


NUMBERS = TraceSource("file")


@pytest.mark.parametrize(("value", "found"), [("1", 1), ("8.0", 8), (8.0, 8), (" 2 ", 2), (MOST, MOST), ("1e3", 1000)])
def test_a_whole_number_may_be_written_in_several_ways(value: str | float, found: int) -> None:
    assert NUMBERS.count("nodes", value) == found


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "x", "", "nan", "inf", "-inf", MOST + 1, "1e400"])
def test_what_is_no_whole_number_in_its_bounds_is_refused(value: str | float) -> None:
    with pytest.raises(TraceError, match=f"nodes is .*: write a whole number from 1 to {MOST}"):
        NUMBERS.count("nodes", value)


def test_a_number_may_be_0_where_that_is_said() -> None:
    assert NUMBERS.count("limit", "0", least=0) == 0


@pytest.mark.parametrize(
    ("value", "unit", "found"), [("1.5", 1.0, 1.5), (2000, 0.001, 2), ("0", 1.0, 0), ("315360000", 1.0, 315_360_000)]
)
def test_a_length_of_time_has_a_unit(value: str | float, unit: float, found: float) -> None:
    assert NUMBERS.seconds("duration", value, unit=unit) == timedelta(seconds=found)


@pytest.mark.parametrize("value", ["-1", "x", "nan", "inf", "315360001"])
def test_what_is_no_length_of_time_is_refused(value: str) -> None:
    with pytest.raises(TraceError, match=r"duration is .*: write a length of time of 0 or more, at most ten years"):
        NUMBERS.seconds("duration", value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-01-05", datetime(2026, 1, 5, tzinfo=UTC)),
        (" 2026-01-05 08:00:00 ", datetime(2026, 1, 5, 8, tzinfo=UTC)),
        ("2026-01-05T08:00:00Z", datetime(2026, 1, 5, 8, tzinfo=UTC)),
        ("2026-01-05T08:00:00+01:00", datetime(2026, 1, 5, 7, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, found: datetime) -> None:
    assert NUMBERS.time("at", text) == found
    assert NUMBERS.time("at", text).tzinfo is UTC


@pytest.mark.parametrize("text", ["", "soon", "1969-12-31", "2201-01-01", "2026-13-01", "12:00"])
def test_what_is_no_time_of_our_age_is_refused(text: str) -> None:
    with pytest.raises(TraceError, match=r"at is .*: write a time like 2026-01-05T08:00:00Z, from 1970 to 2200"):
        NUMBERS.time("at", text)


def test_a_value_in_a_message_is_short_and_steers_no_terminal() -> None:
    with pytest.raises(TraceError) as refused:
        NUMBERS.time("at", "\x1b[2J" + "x" * 500)
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) < 200
