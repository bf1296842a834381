"""What a database keeps of the platform itself: who it is, who leads, and small named values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import bindparam, case, delete, select, text, update

from hai_scheduler.core.model.marks import LostPast, Mark
from hai_scheduler.ports.errors import LeaseLost
from hai_scheduler.ports.values import DatabaseFacts, Lease
from hai_scheduler.store.codec import of_instant, to_instant
from hai_scheduler.store.revision import VERSION_TABLE, known
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.statements import FORGOTTEN, WORDS
from hai_scheduler.store.tables import DATABASE, LEASE, SETTINGS

_LEASE_ID = 1
# Made once: to build a statement costs as much as to execute it.
_LEASE = select(LEASE)


class StoredLease(StoredPart):
    """The lease of the process that leads; one process holds it at most, and its token never gets smaller."""

    async def get(self) -> Lease | None:
        """The lease as it was last written, expired or not; None while no process holds it."""
        held = (await self._sql.ask(_LEASE)).first()
        if held is None or held.holder is None:
            return None
        return Lease(holder=held.holder, token=held.token, expires_at=of_instant(held.expires_at))

    async def acquire(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """Take or extend the lease; None while another holder's lease has not expired.

        The token grows when the holder changes and stays when the same holder extends.
        """
        held = (await self._sql.ask(_LEASE)).first()
        mine = held is not None and held.holder == holder
        if held is not None and held.holder is not None and not mine and of_instant(held.expires_at) > now:
            return None
        token = (held.token if held is not None else 0) + (not mine)
        row = {"id": _LEASE_ID, "holder": holder, "token": token, "expires_at": to_instant(now + length)}
        self._sql.put(LEASE, row)
        return Lease(holder=holder, token=token, expires_at=now + length)

    async def check(self, token: int) -> None:
        """Raise LeaseLost unless the lease has this token. The token stays valid until the transaction ends.

        The lease stays valid, because no other writer can begin before this one ends.
        """
        held = (await self._sql.ask(_LEASE)).first()
        if held is None or held.holder is None or held.token != token:
            raise LeaseLost("another scheduler holds the leader lease, or none does")

    async def release(self, holder: str) -> None:
        """Give up the lease if this holder has it; from then on its token is refused."""
        await self._sql.change(update(LEASE).where(LEASE.c.holder == holder).values(holder=None))


class StoredSettings(StoredPart):
    """Small named values of the platform, such as `paused`. Each use case knows the names and formats of its own."""

    async def get(self, name: str) -> str | None:
        """The value of that name; None if it is not set."""
        return (await self._tables.rows("settings", self._read)).get(name)

    async def put(self, name: str, value: str | None) -> None:
        """Write the value; None removes it."""
        await self._tables.changes("settings")
        if value is None:
            await self._sql.change(delete(SETTINGS).where(SETTINGS.c.name == name))
        else:
            self._sql.put(SETTINGS, {"name": name, "value": value})

    async def _read(self) -> Mapping[str, str]:
        return {
            row.name: row.value
            for row in await self._sql.ask(select(SETTINGS).where(SETTINGS.c.name.not_in((WORDS, FORGOTTEN))))
        }


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
        newest = known()[-1]
        return DatabaseFacts(kind=self._sql.dialect, size=int(size), revision=revision, known_revision=newest)

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
