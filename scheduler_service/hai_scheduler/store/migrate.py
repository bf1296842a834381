"""Brings the tables to the revision of this code, if revision.py has found that they are of another one."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.engine import lock_writer, reading, writing
from hai_scheduler.store.revision import (
    FIRST,
    VERSION_TABLE,
    StateDamaged,
    StateTooNew,
    StateTooOld,
    damage_told,
    known,
    said_of_older_code,
    say_of_older_code,
    takes,
)

_MIGRATIONS = Path(__file__).with_name("migrations")


async def upgrade(engine: AsyncEngine) -> None:
    """Upgrade the tables in one transaction; those of newer code that this code can use stay as they are.

    Raises StateTooNew, StateTooOld and StateDamaged.
    """
    with damage_told(engine.url):
        async with reading(engine).connect() as connection:
            # A state that is refused, or need not be changed, is not written to.
            if await connection.run_sync(_usable, engine.url) not in known():
                return
        async with writing(engine).begin() as connection:
            await connection.run_sync(lock_writer)
            await connection.run_sync(_upgrade, engine.url)


def _upgrade(connection: Connection, url: URL) -> None:
    # Another process may have been faster.
    if _usable(connection, url) in known():
        command.upgrade(config(connection), "head")
        say_of_older_code(connection)


def _usable(connection: Connection, url: URL) -> str:
    """Return the revision of the tables, which this code can use."""
    heads = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_heads()
    if len(heads) != 1:
        raise StateDamaged(url, "it has tables of HAI, and no revision")
    (found,) = heads
    if found < FIRST:
        raise StateTooOld(url, found)
    if not takes(found, said_of_older_code(connection)):
        raise StateTooNew(url, found, known()[-1])
    return found


def config(connection: Connection | None = None) -> Config:
    """Return what Alembic needs to know."""
    config = Config()
    # Percent signs have a special meaning in the parser of the configuration.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
