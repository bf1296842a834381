"""Small named values in a transaction on a database."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import delete, select

from hai_scheduler.store.small_tables import SmallTablePart
from hai_scheduler.store.summary import OWN
from hai_scheduler.store.tables import SETTINGS


class SqlSettings(SmallTablePart):
    """See `ports.stored.settings.StoredSettings`."""

    async def get(self, name: str) -> str | None:
        """See `StoredSettings.get`."""
        return (await self._tables.rows("settings", self._read)).get(name)

    async def put(self, name: str, value: str | None) -> None:
        """See `StoredSettings.put`."""
        await self._tables.changes("settings")
        if value is None:
            await self._sql.change(delete(SETTINGS).where(SETTINGS.c.name == name))
        else:
            await self._sql.put(SETTINGS, {"name": name, "value": value})

    async def _read(self) -> Mapping[str, str]:
        return {row.name: row.value for row in await self._sql.ask(select(SETTINGS).where(SETTINGS.c.name.not_in(OWN)))}
