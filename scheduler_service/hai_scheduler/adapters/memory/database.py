"""The identity of a memory store, and how far it has come (decision 0016)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from hai_scheduler.adapters.memory.base import TxPart
from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.marks import LostPast, Mark


class DatabasePart(TxPart):
    """The part of a transaction that deals with the store itself."""

    async def mark(self) -> Mark:
        """See `Tx.mark`."""
        state = self._seen()
        return Mark(
            database=state.database,
            epoch=state.epoch,
            steps=state.steps,
            task=state.last_task,
            number=state.number,
        )

    async def lost_past(self) -> LostPast:
        """See `Tx.lost_past`."""
        return self._seen().past

    async def count_steps(self, count: int, *, number: int) -> None:
        """See `Tx.count_steps`."""
        state = self._writable()
        self.state = replace(state, steps=state.steps + count, number=max(state.number, number))

    async def begin_epoch(self, epoch: int, *, steps: int, after_task: int, past: LostPast) -> None:
        """See `Tx.begin_epoch`."""
        state = self._writable()
        self.state = replace(
            state,
            epoch=epoch,
            steps=steps,
            number=max(state.number, past.above),
            last_task=max(state.last_task, after_task),
            past=past,
        )

    async def origins(self, task_ids: Collection[TaskId]) -> Mapping[RunId, Origin | None]:
        """See `Tx.origins`."""
        runs = self._seen().runs
        return {run.id: run.origin for task_id in task_ids for run in (runs.get(task_id) or {}).values()}
