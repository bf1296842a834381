"""Recordings and their traces in every store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contract.store_kit import add
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.profiling.recordings import (
    PartState,
    ProcessStack,
    ProcessTrace,
    Recording,
    RecordingKind,
    RecordingPart,
)
from hai_scheduler.ports.errors import Absent, OffsetMismatch
from hai_scheduler.store.store import Store
from kit.builders import a_task, at


def a_recording(task: int = 1, **fields: Any) -> Recording:
    """A recording of two ranks."""
    given: dict[str, Any] = {
        "task_id": TaskId(task),
        "run_id": RunId(f"{task}.1"),
        "user": "alice",
        "by": "root",
        "kind": RecordingKind.TRACE,
        "at": at(1),
        "starts_at": at(5),
        "seconds": 2.5,
        "parts": (RecordingPart(rank=0, node="node-1"), RecordingPart(rank=3, node="node-2")),
    }
    return Recording(**{**given, **fields})


async def test_a_recording_comes_back_whole(store: Store) -> None:
    await add(store, a_task(1))
    done = RecordingPart(
        rank=0,
        node="node-1",
        state=PartState.DONE,
        message="as ordered",
        traces=(ProcessTrace(number=0, pid=7, name="python train.py", size=3, summary="{}", fault="ä"),),
        stacks=(ProcessStack(pid=7, name="python", how="py-spy", kernel="sleeps", text="Thread 1"),),
    )
    async with store.write() as tx:
        added = await tx.recordings.add(a_recording(kind=RecordingKind.STACKS, steps=3, memory=True))
        await tx.recordings.save(added.with_part(done))
    async with store.read() as tx:
        assert await tx.recordings.get(added.id) == added.with_part(done)
        assert await tx.recordings.kept_of("alice") == [(added.id, 3)]
        assert await tx.recordings.kept_of("bob") == []


async def test_the_newest_comes_first_and_numbers_are_not_given_twice(store: Store) -> None:
    await add(store, a_task(1), a_task(2, name="other"))
    async with store.write() as tx:
        first, other, last = [await tx.recordings.add(a_recording(task)) for task in (1, 2, 1)]
        assert [one.id for one in await tx.recordings.of_task(TaskId(1))] == [last.id, first.id]
        newest = await tx.recordings.newest_of_run(RunId("1.1"))
        assert newest is not None
        assert newest.id == last.id
        assert await tx.recordings.newest_of_run(RunId("1.2")) is None
        await tx.recordings.delete(last.id)
    async with store.write() as tx:
        assert (await tx.recordings.add(a_recording())).id > last.id
        await tx.recordings.save(replace(last, seconds=9))
        with pytest.raises(Absent):
            await tx.recordings.get(last.id)
        assert (await tx.recordings.get(other.id)).task_id == 2


async def test_a_trace_is_its_pieces_in_order_each_once(store: Store) -> None:
    await add(store, a_task(1))
    async with store.write() as tx:
        number = (await tx.recordings.add(a_recording())).id
        assert await tx.recordings.add_piece(number, 0, 1, offset=0, data=b"ab") == 2
        assert await tx.recordings.add_piece(number, 0, 2, offset=0, data=b"abc") == 5
        assert await tx.recordings.add_piece(number, 0, 1, offset=2, data=b"\0\xff") == 7
        assert await tx.recordings.add_piece(number, 3, 1, offset=0, data=b"x") == 1
    for wrong in (0, 3, 9):
        with pytest.raises(OffsetMismatch) as told:
            async with store.write() as tx:
                await tx.recordings.add_piece(number, 0, 1, offset=wrong, data=b"c")
        assert told.value.expected == 4
    async with store.read() as tx:
        assert await tx.recordings.trace(number, 0, 1) == b"ab\0\xff"
        assert await tx.recordings.trace(number, 0, 0) == b""
    with pytest.raises(Absent):
        async with store.write() as tx:
            await tx.recordings.add_piece(number + 1, 0, 0, offset=0, data=b"c")


async def test_recordings_are_deleted_with_their_task(store: Store) -> None:
    await add(store, a_task(1, state=TaskState.SUCCEEDED, ended_at=at(9)))
    async with store.write() as tx:
        number = (await tx.recordings.add(a_recording())).id
        await tx.recordings.add_piece(number, 0, 0, offset=0, data=b"ab")
    async with store.write() as tx:
        await tx.tasks.delete(TaskId(1))
    async with store.read() as tx:
        assert await tx.recordings.of_task(TaskId(1)) == []
        assert await tx.recordings.trace(number, 0, 0) == b""
