"""The recordings of tasks, in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.profiling.recordings import Recording
from hai_scheduler.ports.errors import Absent, OffsetMismatch
from kit.memory.draft import MemoryPart


class MemoryRecordings(MemoryPart):
    """See `ports.stored.recordings.StoredRecordings`."""

    async def add(self, recording: Recording) -> Recording:
        """See `StoredRecordings.add`."""
        state = self._draft.writable()
        added = replace(recording, id=state.last_recording + 1)
        recordings = {**state.recordings, added.id: added}
        self._draft.state = replace(state, last_recording=added.id, recordings=recordings)
        return added

    async def save(self, recording: Recording) -> None:
        """See `StoredRecordings.save`."""
        state = self._draft.writable()
        if recording.id in state.recordings:
            self._draft.state = replace(state, recordings={**state.recordings, recording.id: recording})

    async def get(self, number: int) -> Recording:
        """See `StoredRecordings.get`."""
        found = self._draft.seen().recordings.get(number)
        if found is None:
            raise Absent(f"there is no recording {number}")
        return found

    async def of_task(self, task_id: TaskId) -> Sequence[Recording]:
        """See `StoredRecordings.of_task`."""
        return [one for _, one in sorted(self._draft.seen().recordings.items(), reverse=True) if one.task_id == task_id]

    async def newest_of_run(self, run_id: RunId) -> Recording | None:
        """See `StoredRecordings.newest_of_run`."""
        own = [one for one in self._draft.seen().recordings.values() if one.run_id == run_id]
        return max(own, key=lambda one: one.id, default=None)

    async def kept_of(self, user: str) -> Sequence[tuple[int, int]]:
        """See `StoredRecordings.kept_of`."""
        return [(number, one.size) for number, one in sorted(self._draft.seen().recordings.items()) if one.user == user]

    async def delete(self, number: int) -> None:
        """See `StoredRecordings.delete`."""
        state = self._draft.writable()
        self._draft.state = replace(
            state,
            recordings={key: one for key, one in state.recordings.items() if key != number},
            traces={key: data for key, data in state.traces.items() if key[0] != number},
        )

    async def add_piece(self, number: int, rank: int, trace: int, *, offset: int, data: bytes) -> int:
        """See `StoredRecordings.add_piece`."""
        await self.get(number)
        state = self._draft.writable()
        before = state.traces.get((number, rank, trace), b"")
        if offset != len(before):
            raise OffsetMismatch(len(before))
        traces = {**state.traces, (number, rank, trace): before + data}
        self._draft.state = replace(state, traces=traces)
        return sum(len(one) for key, one in traces.items() if key[:2] == (number, rank))

    async def trace(self, number: int, rank: int, trace: int) -> bytes:
        """See `StoredRecordings.trace`."""
        return self._draft.seen().traces.get((number, rank, trace), b"")
