"""The identity of the database, and how far it has come (decision 0016)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import bindparam, case, text, update

from hai_scheduler.core.model.marks import LostPast, Mark
from hai_scheduler.ports.values import DatabaseFacts
from hai_scheduler.store.revision import VERSION_TABLE
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import DATABASE

#: PostgreSQL does not undo this at a rollback: some ids are then left out, which is harmless.
_SET_POSTGRESQL = text("SELECT setval('hai_tasks_id_seq', :last)")
_SET_SQLITE = text("UPDATE sqlite_sequence SET seq = :last WHERE name = 'hai_tasks'")
_BEGIN_SQLITE = text("INSERT INTO sqlite_sequence (name, seq) VALUES ('hai_tasks', :last)")
_SIZES: Final = {
    "sqlite": text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"),
    "postgresql": text("SELECT pg_database_size(current_database())"),
}
_REVISION: Final = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608  # our own word
_COUNT = update(DATABASE).values(
    steps=DATABASE.c.steps + bindparam("count"),
    number=case((DATABASE.c.number < bindparam("least"), bindparam("least")), else_=DATABASE.c.number),
)


class DatabaseRecord(StoredPart):
    """What tells the database from another one, and from an earlier state of itself: its counts never go back."""

    async def facts(self) -> DatabaseFacts:
        """What kind of database it is, and how large."""
        size = (await self._sql.ask(_SIZES[self._sql.dialect])).scalar_one()
        revision = (await self._sql.ask(_REVISION)).scalar()
        return DatabaseFacts(kind=self._sql.dialect, size=int(size), revision=revision)

    async def mark(self) -> Mark:
        """The mark of this database: its identity, and how many starts and ends of runs it has recorded."""
        row = await self._sql.summary()
        return Mark(database=row.name, epoch=row.epoch, steps=row.steps, task=row.last_task, number=row.number)

    async def lost_past(self) -> LostPast:
        """The ids that must not be used again."""
        row = await self._sql.summary()
        return LostPast(first_task=row.first_task, above=row.above)

    async def count_steps(self, count: int, *, number: int) -> None:
        """Count `count` more starts and ends of runs; `number` is the greatest run number among the started ones."""
        self._sql.change_later(_COUNT, [{"count": count, "least": number}])

    async def begin_epoch(self, epoch: int, *, steps: int, after_task: int, past: LostPast) -> None:
        """Begin a new epoch: the database was restored, or is new on its cluster.

        Args:
            epoch: The new epoch.
            steps: The least number of starts and ends of runs that there have been.
            after_task: New task ids are greater than this one.
            past: The ids that must not be used again.
        """
        row = {"epoch": epoch, "steps": steps, "first_task": past.first_task, "above": past.above}
        await self._sql.change(update(DATABASE), {**row, "number": max((await self._sql.summary()).number, past.above)})
        if after_task > (await self._sql.summary()).last_task:
            await self._go_on_after({"last": after_task})

    async def _go_on_after(self, last: Mapping[str, int]) -> None:
        if self._sql.dialect == "postgresql":
            await self._sql.change(_SET_POSTGRESQL, last)
        elif (await self._sql.change(_SET_SQLITE, last)).rowcount == 0:
            await self._sql.change(_BEGIN_SQLITE, last)
