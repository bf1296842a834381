"""Small named values in a transaction on a database."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import delete, select

from hai_scheduler.store.small_tables import SmallTablePart
from hai_scheduler.store.summary import OWN
from hai_scheduler.store.tables import SETTINGS


class StoredSettings(SmallTablePart):
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
        return {row.name: row.value for row in await self._sql.ask(select(SETTINGS).where(SETTINGS.c.name.not_in(OWN)))}
