"""What a command prints, cut into lines."""

from __future__ import annotations

import pytest

from hai_client.rank.records.splitter import MAX_LINE, Splitter


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\n", b"c"], [b"ab", b"c"]),
        ([b"\n\n"], [b"", b""]),
        ([b"10%\r20%\r30%\n"], [b"30%"]),
        ([b"\r10%", b"\r20%\n"], [b"20%"]),
        ([b"\r10%", b"\r20%"], [b"20%"]),
        ([b"10%\r", b"20%\r"], [b"20%"]),
        ([b"\r1", b"0%\r2", b"0%\nend\n"], [b"20%", b"end"]),
        # A bar that clears itself leaves no line.
        ([b"\r10%\r   \r"], []),
        ([b"\r10%\r   \rend\n"], [b"end"]),
        ([b"  "], [b"  "]),
        ([b"dos\r\nend\r\n"], [b"dos", b"end"]),
        ([b"dos\r", b"\nend\r", b"\n"], [b"dos", b"end"]),
        ([b"bar\r", b"next\n"], [b"next"]),
        ([b"x" * (MAX_LINE + 5) + b"\n"], [b"x" * MAX_LINE, b"xxxxx"]),
        ([b"x" * (MAX_LINE - 1) + "é".encode() + b"\n"], [b"x" * (MAX_LINE - 1), "é".encode()]),
    ],
)
def test_a_stream_is_cut_into_lines(chunks: list[bytes], lines: list[bytes]) -> None:
    splitter = Splitter()
    found = [line for chunk in chunks for line in splitter.feed(chunk)]
    assert found + splitter.finish() == lines


def test_a_state_is_told_once_and_an_ordinary_line_has_none() -> None:
    splitter = Splitter()
    told = []
    for piece in (b"an ordinary line", b"\n", b"\r10%", b"", b"\r   ", b"\r20%\r", b"\n", b"ordinary"):
        splitter.feed(piece)
        told.append((splitter.rewriting, splitter.state()))
    assert told == [
        (False, None),
        (False, None),
        (True, b"10%"),
        (True, None),
        (True, None),
        (True, b"20%"),
        (False, None),
        (False, None),
    ]
