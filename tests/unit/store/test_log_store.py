"""How a log lies in the database: pieces are merged up to a size, read only as far as needed, and removed when old."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent, OffsetMismatch, Temporary
from hai_scheduler.store import log_store as module
from hai_scheduler.store.log_store import MERGED_BYTES, SqlLogs, join
from hai_scheduler.store.store import open_store
from hai_scheduler.store.tables import LOG_PIECES
from kit.databases import sqlite_url

RUN = RunId("7.1")
MUCH = 1 << 24


@pytest.fixture
async def logs(tmp_path: Path) -> AsyncIterator[SqlLogs]:
    store = await open_store(sqlite_url(tmp_path / "hai.sqlite"))
    assert isinstance(store.logs, SqlLogs)
    yield store.logs
    await store.close()


async def append(logs: SqlLogs, *pieces: bytes, start: int = 0, keep: int = MUCH) -> int:
    for piece in pieces:
        start = await logs.append(RUN, 0, offset=start, data=piece, keep=keep)
    return start


async def pieces(logs: SqlLogs) -> list[tuple[int, int]]:
    """Where the rows of the log begin and end."""
    async with logs._readers.connect() as connection:
        found = await connection.execute(select(LOG_PIECES.c.start, LOG_PIECES.c.next).order_by(LOG_PIECES.c.start))
        return [(row.start, row.next) for row in found]


async def test_a_log_that_grows_by_lines_is_few_rows(logs: SqlLogs) -> None:
    line = b"x" * 999 + b"\n"
    end = await append(logs, *[line] * 40)
    rows = await pieces(logs)
    assert (rows[0][0], rows[-1][1]) == (0, end)
    assert len(rows) == 3
    assert all(after - before <= MERGED_BYTES for before, after in rows)
    assert [before for before, _ in rows[1:]] == [after for _, after in rows[:-1]]


async def test_a_piece_is_merged_if_both_together_are_just_not_too_large(logs: SqlLogs) -> None:
    half = MERGED_BYTES // 2
    await append(logs, b"a" * half, b"b" * half)
    assert await pieces(logs) == [(0, MERGED_BYTES)]
    await append(logs, b"c", start=MERGED_BYTES)
    assert await pieces(logs) == [(0, MERGED_BYTES), (MERGED_BYTES, MERGED_BYTES + 1)]


async def test_behind_a_gap_a_row_begins(logs: SqlLogs) -> None:
    await append(logs, b"a\n")
    assert await logs.append(RUN, 0, offset=10, data=b"b\n", keep=MUCH, skip=True) == 12
    assert await pieces(logs) == [(0, 2), (10, 12)]
    with pytest.raises(OffsetMismatch):
        await logs.append(RUN, 0, offset=5, data=b"c", keep=MUCH, skip=True)
    with pytest.raises(OffsetMismatch):
        await logs.append(RUN, 0, offset=20, data=b"c", keep=MUCH)


async def test_rows_that_lie_wholly_before_what_is_kept_go(logs: SqlLogs) -> None:
    await append(logs, *[b"x" * MERGED_BYTES] * 3, keep=MERGED_BYTES + 1)
    assert await pieces(logs) == [(MERGED_BYTES, 2 * MERGED_BYTES), (2 * MERGED_BYTES, 3 * MERGED_BYTES)]
    await append(logs, b"y", start=3 * MERGED_BYTES, keep=MERGED_BYTES + 1)
    assert (await pieces(logs))[0][0] == 2 * MERGED_BYTES


async def test_a_page_reads_the_rows_that_it_needs_and_no_others(
    logs: SqlLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(logs, *[b"x" * (MERGED_BYTES - 1) + b"\n"] * 5)
    read: list[int] = []
    real = module.join

    def counted(parts, **how):
        found = list(parts)
        read.extend(start for start, _ in found)
        return real(found, **how)

    monkeypatch.setattr(module, "join", counted)
    chunk = await logs.read(RUN, 0, offset=MERGED_BYTES + 1, limit=MERGED_BYTES - 1, ended=False)
    assert (chunk.next, read) == (2 * MERGED_BYTES, [MERGED_BYTES])
    read.clear()
    await logs.read(RUN, 0, offset=MERGED_BYTES + 1, limit=MERGED_BYTES, ended=False)
    assert read == [MERGED_BYTES, 2 * MERGED_BYTES]


async def test_a_page_has_no_more_rows_than_are_asked_for_at_once(
    logs: SqlLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIECES", 2)
    await append(logs, *[b"x" * (MERGED_BYTES - 1) + b"\n"] * 4)
    chunk = await logs.read(RUN, 0, offset=0, limit=MUCH, ended=True)
    assert (chunk.next, chunk.final) == (2 * MERGED_BYTES, False)
    chunk = await logs.read(RUN, 0, offset=chunk.next, limit=MUCH, ended=True)
    assert (chunk.next, chunk.final) == (4 * MERGED_BYTES, True)


async def test_a_log_that_is_forgotten_leaves_no_row_and_others_stay(logs: SqlLogs) -> None:
    await append(logs, b"a\n")
    await logs.append(RunId("8.1"), 0, offset=0, data=b"b\n", keep=MUCH)
    await logs.forget(RUN)
    with pytest.raises(Absent, match=r"no log of rank 0 of run 7\.1"):
        await logs.read(RUN, 0, offset=0, limit=10, ended=True)
    async with logs._readers.connect() as connection:
        assert (await connection.execute(select(func.count()).select_from(LOG_PIECES))).scalar_one() == 1


@pytest.mark.parametrize("merged", [True, False])
async def test_of_two_calls_at_once_one_is_told_to_try_again(
    logs: SqlLogs, monkeypatch: pytest.MonkeyPatch, merged: bool
) -> None:
    """Two supervisors of one rank, or one that sends again: the row has changed between the look and the write."""
    if merged:
        await append(logs, b"a\n")
    real = module._add

    async def late(connection, own, key, last, offset, data):
        # As another call has left it since this one has looked.
        if merged:
            await connection.execute(LOG_PIECES.update().where(own).values(next=offset + 5))
        else:
            await connection.execute(LOG_PIECES.insert().values(**key, start=offset, next=offset + 5, data=b"other"))
        await real(connection, own, key, last, offset, data)

    monkeypatch.setattr(module, "_add", late)
    with pytest.raises(Temporary, match="two pieces of one log came at once"):
        await append(logs, b"b\n", start=2 if merged else 0)
    monkeypatch.undo()
    assert await pieces(logs) == ([(0, 2)] if merged else []), "nothing of it is kept"


async def test_on_sqlite_a_piece_waits_for_other_writers(logs: SqlLogs) -> None:
    begun: list[str] = []
    writers = logs._writers

    def begin():
        begun.append("a transaction")
        return writers.begin()

    logs._writers = SimpleNamespace(begin=begin)
    async with logs._turn:
        sending = asyncio.create_task(append(logs, b"a\n"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert begun == []
    assert await sending == 2
    assert begun == ["a transaction"]


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
