"""A state of the last revision before the first state, as a platform has left it: `state_0024.*.sql` are its dumps."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

_HERE = Path(__file__).parent


async def a_state_before(engine: AsyncEngine) -> None:
    """Put it into an empty database.

    It has a task of the very first version that waits after a run, and one whose run has failed; task 2 was deleted.
    An admin has set a policy number by its former name.
    """
    dump = (_HERE / f"state_0024.{engine.dialect.name}.sql").read_text(encoding="utf-8")
    if engine.dialect.name == "sqlite":
        with closing(sqlite3.connect(str(engine.url.database))) as connection:
            connection.executescript(dump)
        return
    async with engine.begin() as connection:
        await connection.exec_driver_sql(dump.replace("%", "%%"))
