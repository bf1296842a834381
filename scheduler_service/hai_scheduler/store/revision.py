"""Finds the revision of the tables with one SELECT: enough for a start that needs no migration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError, OperationalError, ProgrammingError
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.engine import reading

#: Not Alembic's default name: the Hub keeps its revision there, and may share the database.
VERSION_TABLE: Final = "hai_revision"
VERSIONS: Final = Path(__file__).with_name("migrations") / "versions"
_REVISION: Final = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608  # our own word
#: Messages of SQLite for a file that it did not write, or that was damaged.
_DAMAGED: Final = ("file is not a database", "malformed")


class StateTooNew(Exception):
    """A newer version of the platform has written the state; nothing was changed."""

    def __init__(self, url: URL, found: str, known: str) -> None:
        shown = url.render_as_string(hide_password=True)
        place = str(url.database) if url.get_backend_name() == "sqlite" else shown
        super().__init__(
            f"The state in {place} is of revision {found}, but this version of HAI knows it up to {known}: a newer"
            " version has written it. Nothing was changed. Install that version again, or move the state away"
            " (or restore a backup from before the upgrade) and start again."
        )
        #: The path of the file, or the database's URL without its password.
        self.place = place
        self.found = found
        self.known = known


class StateDamaged(Exception):
    """The state is not a database that can be read; nothing was changed."""

    def __init__(self, url: URL, why: str) -> None:
        super().__init__(
            f"The state in {url.database} cannot be read ({why}). Nothing was changed. Restore a backup,"
            " or move it away and start again."
        )


@contextmanager
def damage_told(url: URL) -> Iterator[None]:
    """Raise StateDamaged for the errors that a damaged SQLite file causes in the block."""
    try:
        yield
    except DatabaseError as error:
        if any(words in str(error.orig) for words in _DAMAGED):
            raise StateDamaged(url, str(error.orig)) from error
        raise


@cache
def newest() -> str:
    """Return the newest revision that this code knows, from the names of migrations such as `r0004_log_pieces.py`."""
    return max(path.name[1:5] for path in VERSIONS.glob("r[0-9][0-9][0-9][0-9]_*.py"))


async def is_newest(engine: AsyncEngine) -> bool:
    """Whether the tables are of the newest revision; False also without tables. Raises StateDamaged."""
    with damage_told(engine.url):
        async with reading(engine).connect() as connection:
            return await connection.run_sync(_found) == [newest()]


def _found(connection: Connection) -> list[str] | None:
    try:
        return [str(number) for number in connection.execute(_REVISION).scalars()]
    except (OperationalError, ProgrammingError) as error:
        if any(words in str(error.orig) for words in _DAMAGED):
            raise
        # There is no such table, or the database cannot be reached: `upgrade` finds out which.
        return None
