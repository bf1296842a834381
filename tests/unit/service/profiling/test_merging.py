"""The trace of all ranks: which traces it is made of, and what a client gets while they are read."""

from __future__ import annotations

import asyncio
import gzip
import json
from datetime import UTC, datetime

import pytest

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.profiling.merging import EMPTY_PIECE
from hai_scheduler.core.profiling.recordings import PartState, ProcessTrace, Recording, RecordingKind, RecordingPart
from hai_scheduler.service.profiling import merging
from hai_scheduler.service.profiling.merging import merge_orders, merged
from hai_scheduler.service.shared.errors import Conflict, Invalid, NotFound, TooCostly, TooMany, Unavailable
from hai_scheduler.service.shared.orders import MergeOrder, TraceMerged

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def a_recording(*traces: int, state: PartState = PartState.DONE, first: int = 0, size: int = 1000) -> Recording:
    """A recording; the numbers are those of the traces of each rank."""
    parts = tuple(
        RecordingPart(
            rank=first + rank,
            node="n",
            state=state,
            traces=tuple(ProcessTrace(number=one, pid=70 + one, name="train", size=size) for one in range(count)),
        )
        for rank, count in enumerate(traces)
    )
    return Recording(
        id=3, task_id=TaskId(41), run_id=RunId("41.1"), user="ann", by="ann", kind=RecordingKind.TRACE, at=NOW,
        starts_at=NOW, seconds=5, parts=parts,
    )  # fmt: skip


class FakePool:
    """Answers each order by this exception, or by a piece that holds nothing, when it may."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[MergeOrder] = []
        self.may = asyncio.Event()
        self.may.set()

    async def do(self, user: str, order: object, facts: object = None) -> TraceMerged:
        assert isinstance(order, MergeOrder)
        self.asked.append(order)
        await self.may.wait()
        if self.error is not None:
            raise self.error
        return TraceMerged(data="AAAA//8=", crc=order.crc, size=order.size, base=7)

    async def close(self) -> None:
        """There is nothing to end."""


async def test_each_trace_goes_on_where_the_one_before_it_has_ended() -> None:
    pool = FakePool()
    stream = b"".join([piece async for piece in merged(pool, "ann", merge_orders(a_recording(1, 1), None), "t")])
    assert json.loads(gzip.decompress(stream))["baseTimeNanoseconds"] == 7
    first, second = pool.asked
    assert (first.rank, first.base, second.rank, second.base) == (0, None, 1, 7)
    assert second.size == first.size > 0


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (TooCostly("40 s"), "it is too large"),
        (Unavailable("no worker"), "the service is too busy now; try again later"),
        (TooMany("later"), "the service is too busy now; try again later"),
    ],
)
async def test_what_cannot_be_read_now_is_named_in_the_trace(error: Exception, why: str) -> None:
    orders = merge_orders(a_recording(1), None)
    stream = b"".join([piece async for piece in merged(FakePool(error), "ann", orders, "t")])
    assert json.loads(gzip.decompress(stream))["traceEvents"][0]["args"]["name"] == f"rank 0 is left out: {why}"


async def test_a_client_that_waits_hears_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "SILENT_S", 0.001)
    pool = FakePool()
    pool.may.clear()
    pieces = merged(pool, "ann", merge_orders(a_recording(1), None), "t")
    got = [await anext(pieces), await anext(pieces), await anext(pieces)]
    assert got[1:] == [EMPTY_PIECE, EMPTY_PIECE]
    pool.may.set()
    stream = b"".join([*got, *[piece async for piece in pieces]])
    assert json.loads(gzip.decompress(stream))["traceName"] == "t"


@pytest.mark.parametrize(
    ("recording", "labels", "prefixes"),
    [
        (a_recording(1, 1), ["rank 0", "rank 1"], [0, 1]),
        (a_recording(1, 1, first=5), ["rank 5", "rank 6"], [5, 6]),
        (a_recording(1, 2), ["rank 0, process 70", "rank 1, process 70", "rank 1, process 71"], [0, 1, 2]),
        (a_recording(1, 1, first=900), ["rank 900, process 70", "rank 901, process 70"], [0, 1]),
    ],
)
def test_processes_are_told_apart_by_rank(recording: Recording, labels: list[str], prefixes: list[int]) -> None:
    orders = merge_orders(recording, None)
    assert ([one.label for one in orders], [one.prefix for one in orders]) == (labels, prefixes)


def test_ranks_may_be_chosen() -> None:
    assert [one.rank for one in merge_orders(a_recording(1, 1, 1), [2, 0])] == [0, 2]


def test_a_wish_that_cannot_be_met_says_why() -> None:
    with pytest.raises(Invalid, match="name some of 0, 1"):
        merge_orders(a_recording(1, 1), [2])
    with pytest.raises(Conflict, match="goes on"):
        merge_orders(a_recording(1, state=PartState.ORDERED), None)
    with pytest.raises(NotFound, match="no trace"):
        merge_orders(a_recording(0), None)
    with pytest.raises(NotFound, match="no trace"):
        merge_orders(a_recording(1, state=PartState.FAILED), None)
    with pytest.raises(Conflict, match="have 128 MiB: too much for one"):
        merge_orders(a_recording(1, 1, size=64 * 1024 * 1024), None)
    with pytest.raises(Conflict, match="400 processes"):
        merge_orders(a_recording(*[16] * 26), None)
