"""Migrates the tables to the revision of this code, if revision.py has found that they are of another one."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.engine import lock_writer, reading, writing
from hai_scheduler.store.revision import VERSION_TABLE, StateTooNew, damage_told

_MIGRATIONS = Path(__file__).with_name("migrations")


async def upgrade(engine: AsyncEngine, revision: str = "head") -> None:
    """Create or upgrade the tables, in one transaction. Raises StateTooNew and StateDamaged."""
    with damage_told(engine.url):
        await _upgrade(engine, revision)


async def _upgrade(engine: AsyncEngine, revision: str) -> None:
    async with reading(engine).connect() as connection:
        done = await connection.run_sync(_is_at_head, engine.url)
    if done and revision == "head":
        return
    async with writing(engine).begin() as connection:
        await connection.run_sync(lock_writer)
        # Another process may have been faster.
        await connection.run_sync(_is_at_head, engine.url)
        await connection.run_sync(lambda sync: command.upgrade(_config(sync), revision))


async def downgrade(engine: AsyncEngine, revision: str) -> None:
    """Downgrade the tables to an older revision; `base` removes them. Data that the older ones cannot hold are lost."""
    async with writing(engine).begin() as connection:
        await connection.run_sync(lock_writer)
        await connection.run_sync(lambda sync: command.downgrade(_config(sync), revision))


def head() -> str:
    """Return the newest revision that this code knows."""
    newest = scripts().get_current_head()
    assert newest is not None, "there is one line of migrations"
    return newest


def _is_at_head(connection: Connection, url: URL) -> bool:
    known = scripts()
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    found = set(context.get_current_heads())
    unknown = found - {script.revision for script in known.walk_revisions()}
    if unknown:
        raise StateTooNew(url, ", ".join(sorted(unknown)), head())
    return found == {head()}


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    # Percent signs have a special meaning in the parser of the configuration.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def scripts() -> ScriptDirectory:
    """Return the migrations that this code knows."""
    return ScriptDirectory.from_config(_config())
