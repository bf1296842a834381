"""Makes the tables of a database that has none: at once, where migrations would repeat the history of all versions."""

from __future__ import annotations

import secrets
from typing import Final

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, inspect
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.engine import lock_writer, writing
from hai_scheduler.store.revision import VERSION_TABLE, known
from hai_scheduler.store.tables import DATABASE, METADATA

#: As Alembic makes it, which finds the revision there later.
_VERSION: Final = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)


async def make_first_tables(engine: AsyncEngine) -> bool:
    """Make all tables, and the rows that each database has, in one transaction.

    Returns:
        Whether they were made; False: there is a table of ours, so this database is one for migrations.
    """
    async with writing(engine).begin() as connection:
        await connection.run_sync(lock_writer)
        return await connection.run_sync(_make)


def _make(connection: Connection) -> bool:
    if {VERSION_TABLE, *METADATA.tables}.intersection(inspect(connection).get_table_names()):
        return False
    METADATA.create_all(connection, checkfirst=False)
    _VERSION.create(connection)
    connection.execute(_VERSION.insert().values(version_num=known()[-1]))
    row = {"id": 1, "name": secrets.token_hex(8), "epoch": 1, "steps": 0, "number": 0, "first_task": 0, "above": 0}
    connection.execute(DATABASE.insert().values(row))
    return True
