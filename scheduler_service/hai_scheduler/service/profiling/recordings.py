"""What users do with recordings: order one, look at it, fetch its traces, remove it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.profiling.recordings import (
    LEAD,
    MOST_RANKS,
    SECONDS,
    PartState,
    ProcessTrace,
    Recording,
    RecordingKind,
    RecordingPart,
    beyond,
    chosen_ranks,
)
from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.profiling.merging import merge_orders, merged
from hai_scheduler.service.shared.auditing import audit_task
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, Invalid, NotFound, TooCostly
from hai_scheduler.service.shared.lookup import find
from hai_scheduler.service.shared.orders import ComputePool, TraceOrder, TraceRead
from hai_scheduler.service.shared.topics import run_topic
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: Processor time that is spent on the traces of one recording, in seconds; those that are left then are not summed up.
READ_SECONDS: Final = 240.0
_TOO_LARGE: Final = "it is too large to be summed up here: open it in Perfetto, or record less"
_TOO_MUCH: Final = TraceRead(
    fault="others of this recording have taken all the time that there is for it: open it in Perfetto, or record less"
)

_WHY_NOT = {
    TaskState.QUEUED: "it waits, and `hai explain {0}` says for what",
    TaskState.STARTING: "it starts, so try again in some seconds",
    TaskState.SUSPENDING: "its turn is ending, so try again in its next turn",
    TaskState.SUSPENDED: "it waits for its next turn, and `hai explain {0}` says for what",
    TaskState.STOPPING: "it is being stopped",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingWish:
    """What a user wants to have recorded."""

    kind: RecordingKind = RecordingKind.TRACE
    seconds: float | None = None
    steps: int | None = None
    ranks: Sequence[int] | None = None
    memory: bool = False


@dataclass(slots=True, eq=False)
class Recordings(UseCase):
    """The use case of users who have tasks recorded."""

    workers: ComputePool
    #: What is being read of recordings, by number: once for all who look.
    _reading: dict[int, asyncio.Task[None]] = field(default_factory=dict, init=False)

    async def order(self, caller: Caller, ref: str, wish: RecordingWish) -> tuple[Task, Recording]:
        """Order a recording of a running task.

        Raises:
            NotFound: There is no such task that the caller may see.
            Invalid: The run has no such rank, or the wish contradicts itself.
            Conflict: The task does not run, or is being recorded already.
        """
        _check(wish)
        now = self.clock.now()
        async with self.store.write() as tx:
            task = await find(tx, caller, ref)
            run = _live_run(task, ref)
            before = await tx.recordings.newest_of_run(run.id)
            if before is not None and not before.at_time(now).over:
                raise Conflict(
                    f"Task {task.id} is being recorded already (recording {before.id}, ordered by {before.by}): "
                    f"wait for it, `hai profile {task.id} --show {before.id}` shows it."
                )
            limits = self.settings
            for number in beyond(
                await tx.recordings.kept_of(task.user),
                most=limits.recordings_per_user,
                most_bytes=limits.trace_bytes_per_user,
            ):
                await tx.recordings.delete(number)
            ranks, nodes = chosen_ranks(len(run.ranks), _named(wish, run)), run.nodes
            recording = await tx.recordings.add(
                Recording(
                    task_id=task.id,
                    run_id=run.id,
                    user=task.user,
                    by=caller.name,
                    kind=wish.kind,
                    at=now,
                    starts_at=now + (LEAD if wish.kind is RecordingKind.TRACE else timedelta(0)),
                    seconds=SECONDS if wish.seconds is None else wish.seconds,
                    steps=wish.steps,
                    memory=wish.memory,
                    parts=tuple(RecordingPart(rank=rank, node=nodes[rank]) for rank in ranks),
                )
            )
            await audit_task(tx, caller, AdminAction.RECORDING_ORDERED, task, at=now, after=_facts(recording))
        await self.bus.ring(run_topic(run.id))
        return task, recording

    async def all_of(self, caller: Caller, ref: str) -> tuple[Task, Sequence[Recording]]:
        """The recordings of a task, the newest first. Raises NotFound."""
        async with self.store.read() as tx:
            task = await find(tx, caller, ref)
            found = await tx.recordings.of_task(task.id)
        return task, [one.at_time(self.clock.now()) for one in found]

    async def show(self, caller: Caller, ref: str, number: int) -> tuple[Task, Recording]:
        """A recording of a task. Traces that nobody has looked at yet are read first.

        Raises:
            NotFound: There is no such task that the caller may see, or it has no such recording.
            TooMany: The caller has too many computations waiting.
            Unavailable: Traces cannot be read now.
        """
        async with self.store.read() as tx:
            task, recording = await _found(tx, caller, ref, number)
        recording = recording.at_time(self.clock.now())
        if recording.over and any(_unread(trace) for _, trace in _traces(recording)):
            await self._read_once(caller, recording)
            async with self.store.read() as tx:
                _, recording = await _found(tx, caller, ref, number)
            recording = recording.at_time(self.clock.now())
        return task, recording

    async def trace(self, caller: Caller, ref: str, number: int, rank: int, trace: int) -> bytes:
        """A trace, compressed with gzip. Raises NotFound."""
        async with self.store.read() as tx:
            _, recording = await _found(tx, caller, ref, number)
            data = await tx.recordings.trace(recording.id, rank, trace)
        if not data:
            raise NotFound(f"Recording {number} has no trace {trace} of rank {rank}.")
        return data

    async def all_traces(
        self, caller: Caller, ref: str, number: int, ranks: Collection[int] | None
    ) -> AsyncGenerator[bytes, None]:
        """The traces of all processes, or of these ranks, as one, compressed with gzip, in pieces.

        Raises:
            NotFound: There is no such task that the caller may see, no such recording, or no trace.
            Invalid: A rank was not recorded.
            Conflict: The recording goes on, or the traces are too large together.
        """
        async with self.store.read() as tx:
            task, recording = await _found(tx, caller, ref, number)
        orders = merge_orders(recording.at_time(self.clock.now()), ranks)
        return merged(self.workers, caller.name, orders, f"task {task.id}, recording {recording.id}")

    async def remove(self, caller: Caller, ref: str, number: int) -> None:
        """Delete a recording with its traces. Raises NotFound."""
        async with self.store.write() as tx:
            task, recording = await _found(tx, caller, ref, number)
            await tx.recordings.delete(recording.id)
            now, was = self.clock.now(), _facts(recording)
            await audit_task(tx, caller, AdminAction.RECORDING_DELETED, task, at=now, before=was)

    async def _read_once(self, caller: Caller, recording: Recording) -> None:
        """Have the traces read that nobody has looked at yet. It goes on when who asked has gone."""
        reading = self._reading.get(recording.id)
        if reading is None:
            reading = self._reading[recording.id] = asyncio.create_task(self._read(caller, recording))
            reading.add_done_callback(lambda _: self._reading.pop(recording.id, None))
        await asyncio.shield(reading)

    async def _read(self, caller: Caller, recording: Recording) -> None:
        """Have traces read in a worker process, one after the other, and keep what they say: faults as well.

        Raises:
            TooMany: The caller has too many computations waiting.
            Unavailable: A trace cannot be read now; what was read before is kept.
        """
        read: dict[tuple[int, int], ProcessTrace] = {}
        left = READ_SECONDS
        try:
            for part, trace in _traces(recording):
                if _unread(trace):
                    found = await self._read_one(caller, recording, part, trace) if left > 0 else _TOO_MUCH
                    left -= found.seconds
                    read[part.rank, trace.number] = replace(trace, summary=found.summary, fault=found.fault)
        finally:
            await self._keep(recording, read)

    async def _read_one(
        self, caller: Caller, recording: Recording, part: RecordingPart, trace: ProcessTrace
    ) -> TraceRead:
        order = TraceOrder(recording=recording.id, rank=part.rank, trace=trace.number)
        try:
            found: TraceRead = await self.workers.do(caller.name, order)
        except TooCostly:
            # Processes of one recording are alike: the others are not tried.
            return TraceRead(fault=_TOO_LARGE, seconds=READ_SECONDS)
        return found

    async def _keep(self, recording: Recording, read: Mapping[tuple[int, int], ProcessTrace]) -> None:
        async with self.store.write() as tx:
            try:
                newest = await tx.recordings.get(recording.id)
            except Absent:
                return
            for part in newest.parts:
                traces = tuple(read.get((part.rank, one.number), one) for one in part.traces)
                newest = newest.with_part(replace(part, traces=traces))
            await tx.recordings.save(newest)


def _facts(recording: Recording) -> dict[str, object]:
    """What the audit keeps of a recording."""
    return {"recording": recording.id, "kind": recording.kind.value, "ordered_by": recording.by}


def _traces(recording: Recording) -> list[tuple[RecordingPart, ProcessTrace]]:
    return [(part, trace) for part in recording.parts if part.state is PartState.DONE for trace in part.traces]


def _unread(trace: ProcessTrace) -> bool:
    return trace.summary is None and trace.fault is None


def _check(wish: RecordingWish) -> None:
    if wish.kind is RecordingKind.STACKS:
        for name in ("seconds", "steps", "memory"):
            if getattr(wish, name):
                raise Invalid(name, getattr(wish, name), "belongs to traces, not to stacks: leave it out")
    if wish.seconds is not None and wish.steps is not None:
        raise Invalid("steps", wish.steps, "cannot be given together with seconds: leave one of the two out")


def _live_run(task: Task, ref: str) -> Run:
    run = task.live_run
    if task.state is TaskState.RUNNING and run is not None:
        return run
    why = _WHY_NOT.get(task.state, "it has ended").format(ref)
    raise Conflict(f"Task {task.id} is {task.state.value}, and only a running task can be recorded: {why}.")


def _named(wish: RecordingWish, run: Run) -> Sequence[int] | None:
    if wish.ranks is None:
        return None
    if not 0 < len(wish.ranks) <= MOST_RANKS:
        raise Invalid("ranks", len(wish.ranks), f"name from 1 to {MOST_RANKS} ranks")
    for rank in wish.ranks:
        if not 0 <= rank < len(run.ranks):
            raise Invalid("ranks", rank, f"the task has ranks 0 to {len(run.ranks) - 1}: name some of these")
    return wish.ranks


async def _found(tx: Tx, caller: Caller, ref: str, number: int) -> tuple[Task, Recording]:
    task = await find(tx, caller, ref)
    missing = NotFound(
        f"Task {task.id} has no recording {number}: `hai profile {task.id} --list` lists those that it has."
    )
    try:
        recording = await tx.recordings.get(number)
    except Absent:
        raise missing from None
    if recording.task_id != task.id:
        raise missing
    return task, recording
