"""Parts of a log in a folder where others may write as well; joining pieces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.adapters.shared.log_parts import join, read_log


def part(folder: Path, start: int) -> Path:
    return folder / f"{start:020d}.log"


def text(folder: Path) -> bytes:
    return read_log(folder, offset=0, limit=10_000, final=True).data


@pytest.mark.parametrize(
    "name", ["notes.log", "5.log", "0x00000000000000000000.log", f"{7:020d}.log.bak", "²" * 20 + ".log"]
)
def test_what_is_not_named_as_a_part_is_no_part(tmp_path: Path, name: str) -> None:
    part(tmp_path, 0).write_bytes(b"mine\n")
    (tmp_path / name).write_bytes(b"other\n")
    assert text(tmp_path) == b"mine\n"


def test_no_link_is_followed_and_no_pipe_waited_for(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret\n")
    log = tmp_path / "log"
    log.mkdir()
    part(log, 0).write_bytes(b"mine\n")
    part(log, 5).symlink_to(secret)
    assert text(log) == b"mine\n"
    part(log, 5).unlink()
    os.mkfifo(part(log, 5))
    assert text(log) == b"mine\n"
    part(log, 5).unlink()
    part(log, 5).mkdir()
    assert text(log) == b"mine\n"


PIECES = st.lists(st.tuples(st.integers(0, 30), st.binary(min_size=1, max_size=40)), min_size=1, max_size=8)


@given(gaps=PIECES, limit=st.integers(1, 100), offset=st.integers(0, 400))
def test_pieces_are_joined_in_order_and_nothing_is_skipped_but_gaps(gaps, limit, offset) -> None:
    pieces, end = [], 0
    for gap, data in gaps:
        pieces.append((end + gap, data + b"\n"))
        end = end + gap + len(data) + 1
    whole = {start + i: byte for start, data in pieces for i, byte in enumerate(data)}
    asked, found = offset, {}
    for _ in range(2000):
        chunk = join(pieces, offset=asked, limit=limit, end=end, ended=True)
        assert len(chunk.data) <= limit
        assert chunk.next == chunk.start + len(chunk.data)
        assert not any(at in whole for at in range(asked, chunk.start))
        found |= {chunk.start + i: byte for i, byte in enumerate(chunk.data)}
        assert chunk.data or chunk.final
        if chunk.final:
            break
        asked = chunk.next
    assert found == {at: byte for at, byte in whole.items() if at >= offset}
