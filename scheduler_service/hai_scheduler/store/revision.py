"""Finds the revision of the tables with one SELECT, and makes the tables of an empty database."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, inspect, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError, OperationalError, ProgrammingError
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.engine import lock_writer, reading, writing
from hai_scheduler.store.tables import DATABASE, METADATA

#: Not Alembic's default name: the Hub keeps its revision there, and may share the database.
VERSION_TABLE: Final = "hai_revision"
VERSIONS: Final = Path(__file__).with_name("migrations") / "versions"
#: The revision of the first state, and the last one before it, of which a start makes the first state.
FIRST: Final = "0025"
LAST_BEFORE: Final = "0024"
#: What to do with an older state.
OLDER: Final = (
    f"this version of HAI takes {LAST_BEFORE} and later. Start the last version before it once, which makes"
    f" {LAST_BEFORE} of it, then this one (docs/operations.md, Upgrades, says how)."
)
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
            " newer version has written it. Nothing was changed. Install that version again, or move the state away"
            " (or restore a backup from before the upgrade) and start again."
        )


class StateTooOld(StateOfOtherVersion):
    """The state is from long before the first state; nothing was changed."""

    def __init__(self, url: URL, found: str, remedy: str = OLDER) -> None:
        super().__init__(f"The state in {_place(url)} is of revision {found}, and {remedy} Nothing was changed.")

    @classmethod
    def without_ledger(cls, url: URL) -> StateTooOld:
        """Return the error for a ledger that lacks runs of earlier versions."""
        remedy = (
            "its ledger lacks runs of earlier versions. Start the version before this one, until its log says that all"
            " runs of earlier versions are in the ledger, then this one."
        )
        return cls(url, LAST_BEFORE, remedy)


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
    """Return the revisions that this code knows, in order, from the names of files such as `r0025_first_state.py`."""
    return tuple(sorted(path.name[1:5] for path in VERSIONS.glob("r[0-9][0-9][0-9][0-9]_*.py")))


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
    return True
