"""Bringing the tables to the revision that this code knows."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.adapters.sql.engine import lock_writer, reading, writing

#: Not Alembic's own name: the Hub keeps its revision there, and the database may be shared.
VERSION_TABLE = "hai_revision"
_MIGRATIONS = Path(__file__).with_name("migrations")


class StateTooNew(Exception):
    """A newer version of the platform has written the state; nothing was changed."""

    def __init__(self, url: URL, found: str, known: str) -> None:
        shown = url.render_as_string(hide_password=True)
        place = str(url.database) if url.get_backend_name() == "sqlite" else shown
        super().__init__(
            f"The state in {place} is of revision {found}, but this version of HAI knows it up to {known}: a newer"
            " version has written it. Nothing was changed. Install that version again, or move the state away"
            " (or restore a backup from before the upgrade) and start anew."
        )
        #: The file, or the database's URL without its password.
        self.place = place
        self.found = found
        self.known = known


class StateDamaged(Exception):
    """What should be the state is no database that can be read; nothing was changed."""

    def __init__(self, url: URL, why: str) -> None:
        super().__init__(
            f"The state in {url.database} cannot be read ({why}). Nothing was changed. Restore a backup,"
            " or move it away and start anew."
        )


#: What SQLite says of a file that it did not write, or that was damaged.
_DAMAGED = ("file is not a database", "malformed")


async def upgrade(engine: AsyncEngine, revision: str = "head") -> None:
    """Make or upgrade the tables, in one transaction. Raises StateTooNew and StateDamaged."""
    try:
        await _upgrade(engine, revision)
    except DatabaseError as error:
        if any(words in str(error.orig) for words in _DAMAGED):
            raise StateDamaged(engine.url, str(error.orig)) from error
        raise


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
    """Take the tables back to an older revision, `base` for none at all. What the older ones cannot hold is lost."""
    async with writing(engine).begin() as connection:
        await connection.run_sync(lock_writer)
        await connection.run_sync(lambda sync: command.downgrade(_config(sync), revision))


def head() -> str:
    """The newest revision that this code knows."""
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
    # Percent signs have a meaning to the parser behind it.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def scripts() -> ScriptDirectory:
    """The migrations that this code knows."""
    return ScriptDirectory.from_config(_config())
