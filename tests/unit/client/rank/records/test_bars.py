"""Several bars, one below the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_client.rank.records.bars import MOST_ROWS, Screen, goes_up
from hai_client.rank.records.splitter import Splitter


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        # Two bars of tqdm, the inner one below the outer one, and a line after them.
        ([b"\r0%", b"\n\r50%\x1b[A", b"\n\r99%\x1b[A", b"\r7%", b"\nend\n"], [b"7%", b"end"]),
        ([b"\r0%\n\r50%\x1b[A", b"\n\r99%\x1b", b"[A\r7%"], [b"7%", b"99%"]),
        # Three rows, erased and written again, as rich does it.
        ([b"a1\nb1\nc1\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2Ka2\nb2\nc2\nend\n"], [b"a2", b"b2", b"c2", b"end"]),
        ([b"a\nb\x1b[1A\rA\x1b[JC\x1b[2Bend\n"], [b"AC", b"end"]),
        # Beyond the first row that is kept, and a number that is none.
        ([b"a\x1b[9999999999Ab\n"], [b"b", b"a"]),
    ],
)
def test_rows_that_are_written_again_are_kept_as_they_are_last(chunks: list[bytes], lines: list[bytes]) -> None:
    splitter = Splitter()
    found = [line for chunk in chunks for line in splitter.feed(chunk)]
    assert found + splitter.finish() == lines


def test_a_screen_keeps_no_more_rows_than_a_terminal_has() -> None:
    splitter = Splitter()
    lines = [b"%d" % number for number in range(1000)]
    found = [*splitter.feed(b"\x1b[500A" + b"\n".join(lines)), *splitter.finish()]
    assert found == lines
    assert len(splitter.feed(b"\x1b[500A" + b"x\n" * 1000)) >= 1000 - MOST_ROWS


@pytest.mark.parametrize(
    ("data", "up"), [(b"\x1b[A", True), (b"a\x1b[12Fb", True), (b"\x1b[31mred\x1b[0m A", False), (b"\x1b[B", False)]
)
def test_only_what_moves_the_cursor_up_writes_rows_again(data: bytes, up: bool) -> None:
    assert goes_up(data) is up


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\x1b[A", b"\x1b[3F", b"\x1b[2B", b"\x1b[K", b"\x1b[J"])))
def test_it_does_not_matter_where_the_output_is_cut(parts: list[bytes]) -> None:
    """Rows are handed out sooner or later, but nothing of an order to the terminal is left in them."""
    screen = Screen(10)
    found = [line for part in b"".join(parts).partition(b"[") for line in screen.feed(part)] + screen.finish()
    assert all(line.strip(b"abc") == b"" for line in found)


def test_an_order_to_the_terminal_that_never_ends_is_not_kept() -> None:
    screen = Screen(100)
    for piece in (b"\x1b[", *[b"1" * 100] * 1000):
        screen.feed(piece)
    assert len(screen._half) < 100
