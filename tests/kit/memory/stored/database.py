"""The identity of a memory store, and how far it has come (decision 0016)."""

from __future__ import annotations

from dataclasses import replace

from hai_scheduler.core.model.marks import LostPast, Mark
from hai_scheduler.ports.stored.database import DatabaseFacts
from kit.memory.draft import MemoryPart


class MemoryDatabase(MemoryPart):
    """See `ports.stored.database.DatabaseRecord`."""

    async def facts(self) -> DatabaseFacts:
        """See `DatabaseRecord.facts`."""
        self._draft.seen()
        return DatabaseFacts(kind="memory", size=None, revision=None)

    async def mark(self) -> Mark:
        """See `DatabaseRecord.mark`."""
        state = self._draft.seen()
        return Mark(
            database=state.database,
            epoch=state.epoch,
            steps=state.steps,
            task=state.last_task,
            number=state.number,
        )

    async def lost_past(self) -> LostPast:
        """See `DatabaseRecord.lost_past`."""
        return self._draft.seen().past

    async def count_steps(self, count: int, *, number: int) -> None:
        """See `DatabaseRecord.count_steps`."""
        state = self._draft.writable()
        self._draft.state = replace(state, steps=state.steps + count, number=max(state.number, number))

    async def begin_epoch(self, epoch: int, *, steps: int, after_task: int, past: LostPast) -> None:
        """See `DatabaseRecord.begin_epoch`."""
        state = self._draft.writable()
        self._draft.state = replace(
            state,
            epoch=epoch,
            steps=steps,
            number=max(state.number, past.above),
            last_task=max(state.last_task, after_task),
            past=past,
        )
