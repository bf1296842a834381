"""Takes what ranks have recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.profiling.recordings import (
    MOST_PROCESSES,
    PartState,
    ProcessStack,
    ProcessTrace,
    Recording,
    RecordingPart,
)
from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.runs.rank_reports import recent_run
from hai_scheduler.service.shared.errors import Conflict, Invalid
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.shared.world import UseCase

#: How long after the end of a run its recordings are taken.
LATE: Final = timedelta(minutes=10)
#: The stacks of one rank, in characters.
MOST_STACKS: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRecorded:
    """The end of a rank's recording, as it reports it."""

    state: PartState
    message: str | None = None
    traces: tuple[ProcessTrace, ...] = ()
    stacks: tuple[ProcessStack, ...] = ()


class RecordingIntake(UseCase):
    """The use case of ranks that carry out recordings."""

    async def take_piece(self, run_id: RunId, rank: int, number: int, trace: int, *, offset: int, data: bytes) -> int:
        """Add a piece to a trace; returns where the next one begins.

        Raises:
            Conflict: The run is over, or the recording is gone or was reported already.
            Invalid: The rank is not recorded, or sends more than it may.
            OffsetMismatch: The trace does not end at `offset`.
        """
        if not data:
            raise Invalid("", None, "there is no body: send a piece of the trace")
        if not 0 <= trace < MOST_PROCESSES:
            raise Invalid("trace", trace, f"a rank has traces 0 to {MOST_PROCESSES - 1}")
        async with self.store.write() as tx:
            recording, part = await self._of_rank(tx, run_id, rank, number)
            if part.state is not PartState.ORDERED:
                raise Conflict(f"Rank {rank} has reported the end of recording {number} already.")
            size = await tx.recordings.add_piece(number, rank, trace, offset=offset, data=data)
            if size > recording.rank_bytes:
                raise Invalid("", size, f"the traces of a rank may have {recording.rank_bytes} bytes together")
        return offset + len(data)

    async def finish(self, run_id: RunId, rank: int, number: int, told: RankRecorded) -> None:
        """Note the end of a rank's recording; repeating it is harmless. Raises Conflict and Invalid as `take_piece`."""
        if sum(len(one.text) + len(one.kernel) for one in told.stacks) > MOST_STACKS:
            raise Invalid("stacks", None, f"may have {MOST_STACKS} characters together")
        if len({one.number for one in told.traces}) < len(told.traces):
            raise Invalid("traces", None, "two of them have one number")
        async with self.store.write() as tx:
            recording, part = await self._of_rank(tx, run_id, rank, number)
            if part.state is not PartState.ORDERED:
                return
            traces = []
            for one in told.traces:
                size = len(await tx.recordings.trace(number, rank, one.number))
                if not size:
                    raise Invalid("traces", one.number, "nothing was sent of this trace")
                traces.append(replace(one, size=size))
            changed = replace(part, state=told.state, message=told.message, traces=tuple(traces), stacks=told.stacks)
            await tx.recordings.save(recording.with_part(changed))
        await self.bus.ring(FEED)

    async def _of_rank(self, tx: Tx, run_id: RunId, rank: int, number: int) -> tuple[Recording, RecordingPart]:
        """The recording and this rank's part in it."""
        await recent_run(tx, run_id, rank, since=self.clock.now() - LATE)
        gone = Conflict(f"Run {run_id} has no recording {number}.")
        try:
            recording = await tx.recordings.get(number)
        except Absent:
            raise gone from None
        if recording.run_id != run_id:
            raise gone
        part = recording.part(rank)
        if part is None:
            raise Invalid("rank", rank, f"is not recorded by {number}")
        return recording, part
