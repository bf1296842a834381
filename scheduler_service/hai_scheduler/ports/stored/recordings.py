"""The recordings of tasks, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.profiling.recordings import Recording


class StoredRecordings(Protocol):
    """The recordings with their traces. They are deleted with their task."""

    async def add(self, recording: Recording) -> Recording:
        """Add a recording; returns it with its number, which grows with every one."""
        ...

    async def save(self, recording: Recording) -> None:
        """Replace a recording; does nothing if it is gone."""
        ...

    async def get(self, number: int) -> Recording:
        """The recording with that number. Raises Absent."""
        ...

    async def of_task(self, task_id: TaskId) -> Sequence[Recording]:
        """The recordings of a task, the newest first."""
        ...

    async def newest_of_run(self, run_id: RunId) -> Recording | None:
        """The newest recording of a run, if there is one."""
        ...

    async def kept_of(self, user: str) -> Sequence[tuple[int, int]]:
        """The numbers of the recordings of a user's tasks with the bytes of their traces, the oldest first."""
        ...

    async def delete(self, number: int) -> None:
        """Delete a recording with its traces."""
        ...

    async def add_piece(self, number: int, rank: int, trace: int, *, offset: int, data: bytes) -> int:
        """Add a piece to the end of a trace.

        Args:
            number: The recording.
            rank: The rank.
            trace: The number of the trace among those of the rank.
            offset: Where the piece begins.
            data: The piece.

        Returns:
            The bytes of all traces of the rank.

        Raises:
            OffsetMismatch: The trace does not end at `offset`.
            Absent: There is no such recording.
        """
        ...

    async def trace(self, number: int, rank: int, trace: int) -> bytes:
        """All pieces of a trace, joined; empty if there are none."""
        ...
