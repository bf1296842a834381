"""Which revision the tables are of, found by one SELECT: all that a start needs when nothing is to be migrated."""

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

from hai_scheduler.adapters.sql.engine import reading

#: Not Alembic's own name: the Hub keeps its revision there, and the database may be shared.
VERSION_TABLE: Final = "hai_revision"
VERSIONS: Final = Path(__file__).with_name("migrations") / "versions"
_REVISION: Final = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608  # our own word
#: What SQLite says of a file that it did not write, or that was damaged.
_DAMAGED: Final = ("file is not a database", "malformed")


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


@contextmanager
def damage_told(url: URL) -> Iterator[None]:
    """What a damaged SQLite file raises becomes StateDamaged."""
    try:
        yield
    except DatabaseError as error:
        if any(words in str(error.orig) for words in _DAMAGED):
            raise StateDamaged(url, str(error.orig)) from error
        raise


@cache
def newest() -> str:
    """The newest revision that this code knows, by the names of the migrations' files: `r0004_log_pieces.py`."""
    return max(path.name[1:5] for path in VERSIONS.glob("r[0-9][0-9][0-9][0-9]_*.py"))


async def is_newest(engine: AsyncEngine) -> bool:
    """Whether the tables are of the newest revision; False also where there are none. Raises StateDamaged."""
    with damage_told(engine.url):
        async with reading(engine).connect() as connection:
            return await connection.run_sync(_found) == [newest()]


def _found(connection: Connection) -> list[str] | None:
    try:
        return [str(number) for number in connection.execute(_REVISION).scalars()]
    except (OperationalError, ProgrammingError) as error:
        if any(words in str(error.orig) for words in _DAMAGED):
            raise
        # There is no such table, or the database is not to be had: the thorough way says what of it is true.
        return None
