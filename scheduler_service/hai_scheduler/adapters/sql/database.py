"""The identity of the database, and how far it has come (decision 0016)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import bindparam, case, select, text, update

from hai_scheduler.adapters.sql.looking import LookingPart
from hai_scheduler.adapters.sql.tables import DATABASE, RUNS
from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.marks import LostPast, Mark

#: Most ids in one query: SQLite takes some thousands of values in a statement.
_MANY = 500

#: PostgreSQL does not undo this at a rollback: some ids are then left out, which is harmless.
_SET_POSTGRESQL = text("SELECT setval('hai_tasks_id_seq', :last)")
_SET_SQLITE = text("UPDATE sqlite_sequence SET seq = :last WHERE name = 'hai_tasks'")
_BEGIN_SQLITE = text("INSERT INTO sqlite_sequence (name, seq) VALUES ('hai_tasks', :last)")
_COUNT = update(DATABASE).values(
    steps=DATABASE.c.steps + bindparam("count"),
    number=case((DATABASE.c.number < bindparam("least"), bindparam("least")), else_=DATABASE.c.number),
)


class DatabasePart(LookingPart):
    """The part of a transaction that deals with the database itself."""

    async def mark(self) -> Mark:
        """See `Tx.mark`."""
        row = await self._look()
        return Mark(database=row.name, epoch=row.epoch, steps=row.steps, task=row.last_task, number=row.number)

    async def lost_past(self) -> LostPast:
        """See `Tx.lost_past`."""
        row = await self._look()
        return LostPast(first_task=row.first_task, above=row.above)

    async def count_steps(self, count: int, *, number: int) -> None:
        """See `Tx.count_steps`."""
        self._change_later(_COUNT, [{"count": count, "least": number}])

    async def begin_epoch(self, epoch: int, *, steps: int, after_task: int, past: LostPast) -> None:
        """See `Tx.begin_epoch`."""
        row = {"epoch": epoch, "steps": steps, "first_task": past.first_task, "above": past.above}
        await self._change(update(DATABASE), {**row, "number": max((await self._look()).number, past.above)})
        if after_task > (await self._look()).last_task:
            await self._go_on_after({"last": after_task})

    async def origins(self, task_ids: Collection[TaskId]) -> Mapping[RunId, Origin | None]:
        """See `Tx.origins`."""
        asked, found = sorted(task_ids), {}
        for begin in range(0, len(asked), _MANY):
            some = RUNS.c.task_id.in_(asked[begin : begin + _MANY])
            rows = await self._ask(select(RUNS.c.run_id, RUNS.c.origin).where(some))
            found.update({RunId(row.run_id): Origin.parse(row.origin) for row in rows})
        return found

    async def _go_on_after(self, last: Mapping[str, int]) -> None:
        if self._connection.dialect.name == "postgresql":
            await self._change(_SET_POSTGRESQL, last)
        elif (await self._change(_SET_SQLITE, last)).rowcount == 0:
            await self._change(_BEGIN_SQLITE, last)
