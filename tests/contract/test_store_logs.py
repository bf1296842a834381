"""Logs that ranks have sent, in every store."""

from __future__ import annotations

import asyncio

import pytest

from contract.store_kit import Opener
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent, OffsetMismatch
from hai_scheduler.store.log_store import LogStore
from hai_scheduler.store.store import Store

RUN = RunId("7.1")
MUCH = 1 << 24


@pytest.fixture
def logs(store: Store) -> LogStore:
    return store.logs


def line(number: int, width: int = 100) -> bytes:
    return f"{number:06d} ".encode().ljust(width - 1, b"x") + b"\n"


async def write(logs: LogStore, *pieces: bytes, rank: int = 0, keep: int = MUCH, start: int = 0) -> int:
    end = start
    for piece in pieces:
        end = await logs.append(RUN, rank, offset=end, data=piece, keep=keep)
    return end


async def read_all(logs: LogStore, *, limit: int, rank: int = 0, offset: int = 0) -> bytes:
    """The log, read in steps. Steps before the end must not be empty, and no step may be much larger than the limit."""
    found = b""
    while True:
        chunk = await logs.read(RUN, rank, offset=offset, limit=limit, ended=True)
        assert chunk.start == offset
        assert chunk.next == chunk.start + len(chunk.data)
        assert len(chunk.data) <= limit
        assert chunk.data or chunk.final
        found, offset = found + chunk.data, chunk.next
        if chunk.final:
            return found


@pytest.mark.parametrize("limit", [3000, 20_000, 10_000_000])
@pytest.mark.parametrize("width", [100, 30_000], ids=["short lines", "lines longer than a row"])
async def test_what_was_sent_in_pieces_is_read_as_one_log(logs: LogStore, limit: int, width: int) -> None:
    pieces = [b"".join(line(n * 10 + i, width) for i in range(n % 4 + 1)) for n in range(20)]
    assert await write(logs, *pieces) == len(b"".join(pieces))
    assert await read_all(logs, limit=limit) == b"".join(pieces)


async def test_a_chunk_says_where_the_log_ends(logs: LogStore) -> None:
    await write(logs, line(1) + line(2), line(3))
    for offset, limit in ((0, 1), (0, 150), (100, 1000), (10**9, 10)):
        assert (await logs.read(RUN, 0, offset=offset, limit=limit, ended=False)).end == 300


async def test_any_byte_comes_back(logs: LogStore) -> None:
    odd = bytes(range(256)) + b"\n"
    await write(logs, odd, odd)
    assert await read_all(logs, limit=10_000) == odd + odd


async def test_a_chunk_ends_with_a_line_and_says_whether_more_can_come(logs: LogStore) -> None:
    await write(logs, line(1) + line(2), line(3))
    chunk = await logs.read(RUN, 0, offset=0, limit=250, ended=True)
    assert (chunk.data, chunk.final) == (line(1) + line(2), False)
    for ended in (False, True):
        chunk = await logs.read(RUN, 0, offset=chunk.next, limit=250, ended=ended)
        assert chunk.final is ended
    assert (await logs.read(RUN, 0, offset=10**9, limit=250, ended=False)).start == 300


async def test_a_piece_that_does_not_follow_is_refused_with_the_place_where_it_should(logs: LogStore) -> None:
    await write(logs, line(1))
    for offset, skip in ((0, False), (0, True), (99, True), (101, False), (10**15, False)):
        with pytest.raises(OffsetMismatch) as refused:
            await logs.append(RUN, 0, offset=offset, data=line(2), keep=MUCH, skip=skip)
        assert refused.value.expected == 100
    with pytest.raises(OffsetMismatch) as refused:
        await logs.append(RUN, 1, offset=5, data=line(2), keep=MUCH)
    assert refused.value.expected == 0
    assert await read_all(logs, limit=1000) == line(1)


async def test_what_was_lost_on_the_way_is_a_gap(logs: LogStore) -> None:
    await write(logs, line(1))
    assert await logs.append(RUN, 0, offset=500, data=line(2), keep=MUCH, skip=True) == 600
    first = await logs.read(RUN, 0, offset=0, limit=1000, ended=True)
    assert (first.start, first.data, first.final) == (0, line(1), False)
    second = await logs.read(RUN, 0, offset=first.next, limit=1000, ended=True)
    assert (second.start, second.data, second.final) == (500, line(2), True)


async def test_the_oldest_lines_go_when_a_log_is_too_long(logs: LogStore) -> None:
    keep = 64 * 1024
    pieces = [b"".join(line(n * 100 + i) for i in range(100)) for n in range(40)]
    end = await write(logs, *pieces, keep=keep)
    chunk = await logs.read(RUN, 0, offset=0, limit=MUCH, ended=True)
    assert chunk.next == end == 400_000
    assert keep <= len(chunk.data) <= 2 * keep
    assert b"".join(pieces).endswith(chunk.data)
    assert await read_all(logs, limit=5000, offset=chunk.start) == chunk.data


async def test_a_piece_that_is_longer_than_what_is_kept_is_kept(logs: LogStore) -> None:
    await write(logs, line(1), line(2, 5000), keep=100)
    chunk = await logs.read(RUN, 0, offset=0, limit=MUCH, ended=True)
    assert chunk.data.endswith(line(2, 5000))


async def test_ranks_and_runs_have_logs_of_their_own(logs: LogStore) -> None:
    await write(logs, line(1))
    await write(logs, line(2), rank=1)
    await logs.append(RunId("7.10"), 0, offset=0, data=line(3), keep=MUCH)
    assert await read_all(logs, limit=1000, rank=1) == line(2)
    await logs.forget(RUN)
    await logs.forget(RUN)
    for rank in (0, 1):
        with pytest.raises(Absent):
            await logs.read(RUN, rank, offset=0, limit=1000, ended=True)
    assert (await logs.read(RunId("7.10"), 0, offset=0, limit=1000, ended=True)).data == line(3)
    assert await write(logs, line(4)) == 100


async def test_of_two_pieces_for_one_place_one_is_kept(opener: Opener) -> None:
    stores = [await opener(), await opener()]
    for begin in range(0, 2000, 100):
        calls = [store.logs.append(RUN, 0, offset=begin, data=line(begin), keep=MUCH) for store in stores]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert done.count(begin + 100) == 1, done
    assert await read_all(stores[0].logs, limit=MUCH) == b"".join(line(n) for n in range(0, 2000, 100))


async def test_a_log_outlives_the_store(opener: Opener) -> None:
    await write((await opener()).logs, line(1))
    assert await read_all((await opener()).logs, limit=1000) == line(1)


async def test_a_worker_process_finds_them_in_the_store(logs: LogStore) -> None:
    assert logs.place(RUN).folder is None


async def test_an_offset_behind_the_end_is_the_end(logs: LogStore) -> None:
    end = await write(logs, line(1), line(2))
    chunk = await logs.read(RUN, 0, offset=10**15, limit=100, ended=False)
    assert (chunk.start, chunk.next, chunk.data) == (end, end, b"")
