"""Brings the tables to the revision of this code, if revision.py has found that they are of another one."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.bringing_over import bring_over
from hai_scheduler.store.engine import lock_writer, reading, writing
from hai_scheduler.store.revision import (
    FIRST,
    LAST_BEFORE,
    VERSION_TABLE,
    StateDamaged,
    StateTooNew,
    StateTooOld,
    damage_told,
    known,
)

_MIGRATIONS = Path(__file__).with_name("migrations")


async def upgrade(engine: AsyncEngine) -> None:
    """Upgrade the tables in one transaction. Raises StateTooNew, StateTooOld and StateDamaged."""
    with damage_told(engine.url):
        async with reading(engine).connect() as connection:
            # A state that is refused is not written to.
            await connection.run_sync(_usable, engine.url)
        async with writing(engine).begin() as connection:
            await connection.run_sync(lock_writer)
            await connection.run_sync(_upgrade, engine.url)


def _upgrade(connection: Connection, url: URL) -> None:
    # Another process may have been faster.
    if _usable(connection, url) == LAST_BEFORE:
        bring_over(connection, url)
    command.upgrade(config(connection), "head")


def _usable(connection: Connection, url: URL) -> str:
    """Return the revision of the tables, of which this code can make its own."""
    heads = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_heads()
    if len(heads) != 1:
        raise StateDamaged(url, "it has tables of HAI, and no revision")
    (found,) = heads
    if found in (LAST_BEFORE, *known()):
        return found
    raise StateTooOld(url, found) if found < FIRST else StateTooNew(url, found, known()[-1])


def config(connection: Connection | None = None) -> Config:
    """Return what Alembic needs to know."""
    config = Config()
    # Percent signs have a special meaning in the parser of the configuration.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
