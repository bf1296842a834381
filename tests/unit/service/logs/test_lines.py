"""Lines are made of a chunk only as far as somebody wants them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.service.logs import lines as lines_module
from hai_scheduler.service.logs.lines import last_lines_of, lines_of

EVERYTHING = 10**9


def chunks_of(*texts: bytes, start: int = 0) -> list[LogChunk]:
    found = []
    for text in texts:
        found.append(LogChunk(start=start, next=start + len(text), data=text, final=False))
        start += len(text)
    return found


logs = st.lists(
    st.text("ab\n", min_size=1, max_size=12).map(lambda text: text.encode() + b"\n"), min_size=1, max_size=4
)


@given(logs, st.integers(0, 30), st.booleans())
def test_the_first_and_the_last_lines_are_those_of_all_lines(texts: list[bytes], most: int, cut: bool) -> None:
    if cut:
        texts[-1] = texts[-1][:-1] or b"a"
    chunks = chunks_of(*texts, start=100)
    every = [line for chunk in chunks for line in lines_of(1, 0, chunk, EVERYTHING)]
    assert "\n".join(line.text for line in every) == b"".join(texts).decode().removesuffix("\n")
    assert last_lines_of(1, 0, chunks, most) == every[max(0, len(every) - most) :]
    assert lines_of(1, 0, chunks[0], most) == lines_of(1, 0, chunks[0], EVERYTHING)[:most]


@pytest.mark.parametrize("size", [1000, 100_000])
def test_no_line_is_made_that_nobody_gets(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    made = 0
    real = lines_module.line_of

    def counted(run: int, rank: int, raw: bytes, behind: int) -> lines_module.Line:
        nonlocal made
        made += 1
        return real(run, rank, raw, behind)

    monkeypatch.setattr(lines_module, "line_of", counted)
    chunks = chunks_of(b"\n" * size, b"\n" * size)
    assert len(lines_of(1, 0, chunks[0], 10)) == 10
    assert len(last_lines_of(1, 0, chunks, 10)) == 10
    assert made == 20
