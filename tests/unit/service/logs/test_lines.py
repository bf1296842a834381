"""Lines of a chunk, and the states of a line that is written again."""

from __future__ import annotations

import pytest

from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.service.logs.lines import count_lines, lines_of, stamp_of

STAMP = b"2026-01-05T08:00:00.000001Z "


def chunk(*texts: bytes, more: int = 0, start: int = 100) -> LogChunk:
    data = b"".join(STAMP + text + b"\n" for text in texts)
    reached = start + len(data)
    return LogChunk(start=start, next=reached, data=data, final=False, end=reached + more)


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (chunk(b"a", b"1\r", b"2\r", b"3", b"b"), ["a", "3", "b"]),
        (chunk(b"1\r", b"2\r"), ["2"]),
        (chunk(b"a", b"1\r", b"2\r", more=1), ["a"]),
        (chunk(b"1\r", more=1), []),
        (chunk(), []),
        (chunk(b""), [""]),
    ],
    ids=["passed", "the last of the log", "more follows", "only one that has passed", "nothing", "an empty line"],
)
def test_the_last_state_of_a_line_counts(given: LogChunk, texts: list[str]) -> None:
    lines = lines_of(1, 0, given)
    assert [line.text for line in lines] == texts
    assert all((line.cursor.offset or 0) <= given.next for line in lines)


def test_only_in_a_live_run_another_line_can_take_the_place_of_the_last_state() -> None:
    states = chunk(b"a", b"1\r", b"2\r")
    assert [line.rewritten for line in lines_of(1, 0, states, live=True)] == [False, True]
    assert [line.rewritten for line in lines_of(1, 0, states)] == [False, False]
    assert count_lines([states, chunk(b"b")]) == 2


@pytest.mark.parametrize("raw", [b"no time", b"2026-13-45T08:00:00.000001Z x", b""])
def test_a_line_without_a_time_is_all_text(raw: bytes) -> None:
    assert stamp_of(raw) == (None, 0)
