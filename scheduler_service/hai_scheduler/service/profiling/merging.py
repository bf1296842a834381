"""Makes one trace of those of all processes of a recording, piece by piece."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace
from typing import Final

from hai_scheduler.core.profiling.merging import (
    EMPTY_PIECE,
    MOST_MERGED,
    MOST_MERGED_PROCESSES,
    MergedPiece,
    Running,
    end_piece,
    head_piece,
    missing_piece,
)
from hai_scheduler.core.profiling.recordings import PartState, Recording
from hai_scheduler.service.shared.errors import Conflict, Invalid, NotFound, TooCostly, TooMany, Unavailable
from hai_scheduler.service.shared.orders import ComputePool, MergeOrder, TraceMerged

#: How long a client hears nothing while a trace is read, seconds: shorter than any client waits.
SILENT_S: Final = 10.0
_MIB: Final = 1024 * 1024


def merge_orders(recording: Recording, ranks: Collection[int] | None) -> Sequence[MergeOrder]:
    """What has to be done for one trace of these ranks; None: all of them.

    Raises:
        Invalid: The recording has no such rank.
        Conflict: Ranks have still to answer, or the traces are too large together.
        NotFound: There is no trace.
    """
    for rank in ranks or ():
        if recording.part(rank) is None:
            recorded = ", ".join(str(part.rank) for part in recording.parts)
            raise Invalid("ranks", rank, f"was not recorded; name some of {recorded}")
    if not recording.over:
        raise Conflict(f"Recording {recording.id} goes on: wait until all of its ranks have answered.")
    parts = [part for part in recording.parts if part.state is PartState.DONE and (ranks is None or part.rank in ranks)]
    found = [(part.rank, trace) for part in parts for trace in part.traces]
    if not found:
        raise NotFound(f"Recording {recording.id} has no trace of these ranks.")
    size = sum(trace.size for _, trace in found)
    if size > MOST_MERGED or len(found) > MOST_MERGED_PROCESSES:
        raise Conflict(
            f"The {len(found)} traces of recording {recording.id} have {-(-size // _MIB)} MiB: too much for one. Name "
            f"fewer ranks, for at most {MOST_MERGED // _MIB} MiB and {MOST_MERGED_PROCESSES} processes, "
            "or take the trace of each rank."
        )
    alone = all(len(part.traces) <= 1 for part in parts) and parts[-1].rank < MOST_MERGED_PROCESSES
    return [
        MergeOrder(
            recording=recording.id,
            rank=rank,
            trace=trace.number,
            label=f"rank {rank}" if alone else f"rank {rank}, process {trace.pid}",
            prefix=rank if alone else place,
            crc=0,
            size=0,
            base=None,
        )
        for place, (rank, trace) in enumerate(found)
    ]


async def merged(
    workers: ComputePool, user: str, orders: Sequence[MergeOrder], name: str
) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of one stream of gzip; what cannot be read is named in it.

    Args:
        workers: Rewrites the traces, one after the other.
        user: Who asks.
        orders: The traces; their numbers on what is before them are not used.
        name: What the trace is called in it.
    """
    piece = head_piece()
    yield piece.data
    running = piece.running
    for order in orders:
        work = asyncio.ensure_future(_one(workers, user, order, running))
        try:
            while not (await asyncio.wait({work}, timeout=SILENT_S))[0]:
                yield EMPTY_PIECE
            piece = work.result()
        finally:
            work.cancel()
        yield piece.data
        running = piece.running
    yield end_piece(running, name=name)


async def _one(workers: ComputePool, user: str, order: MergeOrder, before: Running) -> MergedPiece:
    wanted = replace(order, crc=before.crc, size=before.size, base=before.base)
    try:
        found: TraceMerged = await workers.do(user, wanted)
    except TooCostly:
        found = TraceMerged(fault="it is too large")
    except (TooMany, Unavailable):
        found = TraceMerged(fault="the service is too busy now; try again later")
    if found.fault is not None:
        return missing_piece(before, label=order.label, prefix=order.prefix, why=found.fault)
    return MergedPiece(base64.b64decode(found.data), Running(found.crc, found.size, found.base))
