"""Finds the revision of the tables with one SELECT, and makes the tables of an empty database."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, inspect, select, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError, OperationalError, ProgrammingError
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.engine import lock_writer, reading, translated, writing
from hai_scheduler.store.tables import DATABASE, METADATA, SETTINGS

#: Not Alembic's default name: the Hub keeps its revision there, and may share the database.
VERSION_TABLE: Final = "hai_revision"
VERSIONS: Final = Path(__file__).with_name("migrations") / "versions"
#: The revision of the first release.
FIRST: Final = "0026"
#: The oldest revision whose code can use the tables of this code: it starts on them, and may run beside this one.
#: Revisions only add. One that takes away what older code uses comes a minor version after that code, and raises this.
USABLE_FROM: Final = "0026"
#: The setting that tells older code so.
USABLE_FROM_SAID: Final = "usable_from"
_REVISION: Final = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608  # our own word
#: Messages of SQLite for a file that it did not write, or that was damaged.
_DAMAGED: Final = ("file is not a database", "malformed")


class StateOfOtherVersion(Exception):
    """Another version of the platform has written the state; nothing was changed."""


class StateTooNew(StateOfOtherVersion):
    """A newer version of the platform has written the state; nothing was changed."""

    def __init__(self, url: URL, found: str, known: str) -> None:
        super().__init__(
            f"The state in {_place(url)} is of revision {found}, but this version of HAI knows it up to {known}: a"
            " version that is more than one newer has written it. Nothing was changed. Install that version again, or"
            " restore a backup from before the upgrade (`hai restore`)."
        )


class StateTooOld(StateOfOtherVersion):
    """The state is from before the first release; nothing was changed."""

    def __init__(self, url: URL, found: str) -> None:
        super().__init__(
            f"The state in {_place(url)} is of revision {found}, from before the first release, which no version"
            " takes. Nothing was changed. Move it away and start again."
        )


def _place(url: URL) -> str:
    """Return the path of the file, or the database's URL without its password."""
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


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
def known() -> tuple[str, ...]:
    """Return the revisions that this code knows, in order, from the names of files such as `r0026_first_state.py`."""
    return tuple(sorted(path.name[1:5] for path in VERSIONS.glob("r[0-9][0-9][0-9][0-9]_*.py")))


def takes(found: str, usable_from: str | None) -> bool:
    """Whether this code can use tables of a revision, or make its own of them.

    Args:
        found: Their revision.
        usable_from: What they say of older code: `USABLE_FROM` of the code that has made them.
    """
    return found in known() or (found > known()[-1] and usable_from is not None and usable_from <= known()[-1])


def said_of_older_code(connection: Connection) -> str | None:
    """Return what the tables say of older code; None: nothing."""
    asked = select(SETTINGS.c.value).where(SETTINGS.c.name == USABLE_FROM_SAID)
    return connection.execute(asked).scalar_one_or_none()


def say_of_older_code(connection: Connection) -> None:
    """Write into the tables of this code which older code can use them."""
    connection.execute(SETTINGS.delete().where(SETTINGS.c.name == USABLE_FROM_SAID))
    connection.execute(SETTINGS.insert().values(name=USABLE_FROM_SAID, value=USABLE_FROM))


async def is_newest(engine: AsyncEngine) -> bool:
    """Whether the tables are of the newest revision; False also without tables. Raises StateDamaged."""
    with damage_told(engine.url):
        async with reading(engine).connect() as connection:
            return await connection.run_sync(_found) == [known()[-1]]


def _found(connection: Connection) -> list[str] | None:
    try:
        return [str(number) for number in connection.execute(_REVISION).scalars()]
    except (OperationalError, ProgrammingError) as error:
        if any(words in str(error.orig) for words in _DAMAGED):
            raise
        # There is no such table, or the database cannot be reached: `upgrade` finds out which.
        return None


async def read_revision(engine: AsyncEngine) -> tuple[str, str | None] | None:
    """Return the revision of the tables, and what they say of older code; None: there are no tables of ours.

    Raises StateDamaged, and Temporary: the database cannot be reached.
    """

    def read(connection: Connection) -> tuple[str, str | None] | None:
        if not inspect(connection).has_table(VERSION_TABLE):
            return None
        return str(connection.execute(_REVISION).scalar_one()), said_of_older_code(connection)

    with damage_told(engine.url), translated():
        async with reading(engine).connect() as connection:
            return await connection.run_sync(read)


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
        return await connection.run_sync(make_tables)


def make_tables(connection: Connection) -> bool:
    """Make all tables in an open transaction, as `make_first_tables` does."""
    if {VERSION_TABLE, *METADATA.tables}.intersection(inspect(connection).get_table_names()):
        return False
    METADATA.create_all(connection, checkfirst=False)
    _VERSION.create(connection)
    connection.execute(_VERSION.insert().values(version_num=known()[-1]))
    row = {"id": 1, "name": secrets.token_hex(8), "epoch": 1, "steps": 0, "number": 0, "first_task": 0, "above": 0}
    connection.execute(DATABASE.insert().values(row))
    say_of_older_code(connection)
    return True
