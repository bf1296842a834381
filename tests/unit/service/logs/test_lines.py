"""Lines of a chunk, made only as far as somebody wants them, and the states of a line that is written again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.service.logs import lines as lines_module
from hai_scheduler.service.logs.lines import count_lines, last_lines_of, lines_of, stamp_of

EVERYTHING = 10**9
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
    lines = lines_of(1, 0, given, EVERYTHING)
    assert [line.text for line in lines] == texts
    assert all((line.cursor.offset or 0) <= given.next for line in lines)


def test_only_in_a_live_run_another_line_can_take_the_place_of_the_last_state() -> None:
    states = chunk(b"a", b"1\r", b"2\r")
    assert [line.rewritten for line in lines_of(1, 0, states, EVERYTHING, live=True)] == [False, True]
    assert [line.rewritten for line in lines_of(1, 0, states, EVERYTHING)] == [False, False]
    assert count_lines([states, chunk(b"b")]) == 2


@pytest.mark.parametrize("raw", [b"no time", b"2026-13-45T08:00:00.000001Z x", b""])
def test_a_line_without_a_time_is_all_text(raw: bytes) -> None:
    assert stamp_of(raw) == (None, 0)


def chunks_of(*texts: bytes, start: int = 0) -> list[LogChunk]:
    found = []
    end = start + sum(map(len, texts))
    for text in texts:
        found.append(LogChunk(start=start, next=start + len(text), data=text, final=False, end=end))
        start += len(text)
    return found


logs = st.lists(
    st.text("ab\n\r", min_size=1, max_size=12).map(lambda text: text.encode() + b"\n"), min_size=1, max_size=4
)


@given(logs, st.integers(0, 30), st.booleans())
def test_the_first_and_the_last_lines_are_those_of_all_lines(texts: list[bytes], most: int, cut: bool) -> None:
    if cut:
        texts[-1] = texts[-1][:-1] or b"a"
    chunks = chunks_of(*texts, start=100)
    every = [line for chunk in chunks for line in lines_of(1, 0, chunk, EVERYTHING)]
    raws = b"".join(texts).removesuffix(b"\n").split(b"\n")
    kept = [raw for number, raw in enumerate(raws, 1) if number == len(raws) or not raw.endswith(b"\r")]
    assert [line.text for line in every] == [raw.removesuffix(b"\r").decode() for raw in kept]
    assert last_lines_of(1, 0, chunks, most) == every[max(0, len(every) - most) :]
    assert lines_of(1, 0, chunks[0], most) == lines_of(1, 0, chunks[0], EVERYTHING)[:most]


@pytest.mark.parametrize("size", [1000, 100_000])
def test_no_line_is_made_that_nobody_gets(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    made = 0
    real = lines_module.line_of

    def counted(run: int, rank: int, raw: bytes, behind: int, *, live: bool) -> lines_module.Line:
        nonlocal made
        made += 1
        return real(run, rank, raw, behind, live=live)

    monkeypatch.setattr(lines_module, "line_of", counted)
    chunks = chunks_of(b"\n" * size, b"\n" * size)
    assert len(lines_of(1, 0, chunks[0], 10)) == 10
    assert len(last_lines_of(1, 0, chunks, 10)) == 10
    assert made == 20
