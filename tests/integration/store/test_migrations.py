"""From any state to the tables of this code; on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.store import migrate
from hai_scheduler.store import revision as revision_module
from hai_scheduler.store.engine import connect, parse
from hai_scheduler.store.migrate import upgrade
from hai_scheduler.store.revision import (
    FIRST,
    VERSION_TABLE,
    VERSIONS,
    StateDamaged,
    StateOfOtherVersion,
    StateTooNew,
    StateTooOld,
    is_newest,
    known,
)
from hai_scheduler.store.store import open_store
from hai_scheduler.store.tables import METADATA
from kit.builders import a_spec, a_task
from kit.databases import sqlite_url
from upgrade.releases import RELEASES, put


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def tables(engine: AsyncEngine) -> set[str]:
    async with engine.connect() as connection:
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    return {name for name in names if name.startswith("hai_")}


async def revision(engine: AsyncEngine) -> str:
    async with engine.connect() as connection:
        return str((await connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}"))).scalar_one())


async def set_revision(engine: AsyncEngine, value: str) -> None:
    async with engine.begin() as connection:
        await connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = :value"), {"value": value})


async def set_usable_from(engine: AsyncEngine, value: str) -> None:
    async with engine.begin() as connection:
        asked = text("UPDATE hai_settings SET value = :value WHERE name = 'usable_from'")
        assert (await connection.execute(asked, {"value": value})).rowcount == 1


async def test_from_nothing_all_tables_are_made(url: str, engine: AsyncEngine) -> None:
    store = await open_store(url)
    assert await tables(engine) == {*METADATA.tables, VERSION_TABLE}
    assert await revision(engine) == known()[-1]
    await store.close()


async def test_opening_again_changes_nothing_and_keeps_what_is_there(url: str) -> None:
    for number in (1, 2, 3):
        store = await open_store(url)
        async with store.write() as tx:
            assert (await tx.tasks.add(a_task(), a_spec())).id == number
        await store.close()


def made_of(connection: Connection) -> dict[str, object]:
    """All that the database knows of our tables."""
    look = inspect(connection)
    found: dict[str, object] = {}
    for table in sorted(set(look.get_table_names()) & {*METADATA.tables, VERSION_TABLE}):
        found[table] = {
            "columns": {one["name"]: {**one, "type": repr(one["type"])} for one in look.get_columns(table)},
            "key": look.get_pk_constraint(table),
            "unique": sorted(look.get_unique_constraints(table), key=str),
            "checks": sorted(look.get_check_constraints(table), key=str),
            "foreign": sorted(look.get_foreign_keys(table), key=str),
            "indexes": sorted(look.get_indexes(table), key=str),
            "options": look.get_table_options(table),
        }
    if connection.dialect.name == "sqlite":
        words = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE name LIKE 'hai_%'")).all()
        found["words"] = {
            name: {word for word in ("AUTOINCREMENT", "WITHOUT ROWID") if word in sql} for name, sql in words
        }
    else:
        found["sequences"] = sorted(look.get_sequence_names())
    return found


# -- from the databases of releases --------------------------------------------------------------------------


@pytest.mark.parametrize("version", RELEASES)
async def test_a_releases_database_gets_the_tables_of_a_new_one(url: str, engine: AsyncEngine, version: str) -> None:
    """A change of `tables.py` needs a migration."""
    await (await open_store(url)).close()
    async with engine.begin() as connection:
        new = await connection.run_sync(made_of)
        await connection.run_sync(METADATA.drop_all)
        await connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
    await put(engine, version)
    await (await open_store(url)).close()
    async with engine.connect() as connection:
        assert await connection.run_sync(made_of) == new
    assert await revision(engine) == known()[-1]


# -- states that are refused ---------------------------------------------------------------------------------


async def everything_in(engine: AsyncEngine) -> list[object]:
    there = sorted(await tables(engine))
    async with engine.connect() as connection:
        made = await connection.run_sync(made_of)
        rows = [await connection.execute(text(f"SELECT * FROM {table}")) for table in there]
        return [made, *([tuple(row) for row in each] for each in rows)]


#: As newer code does it that has taken something away.
USABLE_FROM_9999 = "UPDATE hai_settings SET value = '9999' WHERE name = 'usable_from'"


@pytest.mark.parametrize(
    ("changed", "refusal", "words"),
    [
        (
            f"{USABLE_FROM_9999}; UPDATE hai_revision SET version_num = '9999'",
            StateTooNew,
            ("9999", known()[-1], "Install that version"),
        ),
        ("UPDATE hai_revision SET version_num = '0025'", StateTooOld, ("0025", "before the first release")),
        ("DELETE FROM hai_revision", StateDamaged, ("no revision", "Restore a backup")),
    ],
    ids=["newer", "older", "without revision"],
)
async def test_a_state_of_another_version_is_left_alone_and_the_error_says_what_to_do(
    url: str, engine: AsyncEngine, changed: str, refusal: type[Exception], words: tuple[str, ...]
) -> None:
    await put(engine, RELEASES[0])
    async with engine.begin() as connection:
        for statement in changed.split(";"):
            await connection.execute(text(statement))
    before = await everything_in(engine)
    with pytest.raises(refusal) as caught:
        await open_store(url)
    for part in (str(engine.url.database), "Nothing was changed", *words):
        assert part in str(caught.value)
    assert await everything_in(engine) == before


@pytest.mark.parametrize("found", ["9999", "0023"])
async def test_a_sqlite_file_of_another_version_stays_as_it_is_byte_for_byte(tmp_path: Path, found: str) -> None:
    path = tmp_path / "hai.sqlite"
    await (await open_store(sqlite_url(path))).close()
    engine = connect(parse(sqlite_url(path)))
    await set_revision(engine, found)
    await set_usable_from(engine, found)
    await engine.dispose()
    before = path.read_bytes()
    with pytest.raises(StateOfOtherVersion, match=r"hai\.sqlite"):
        await open_store(sqlite_url(path))
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["hai.sqlite"]


# -- a further revision --------------------------------------------------------------------------------------

FURTHER = """
import sqlalchemy as sa
from alembic import op

revision = "9998"
down_revision = "{newest}"


def upgrade():
    with op.batch_alter_table("hai_specs", recreate="never") as specs:
        specs.add_column(sa.Column("colour", sa.Text()))
    {then}
"""


@pytest.fixture
def further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Adds a revision to those that the code knows, with a last statement."""
    folder = tmp_path / "migrations"

    def add(then: str = "") -> None:
        shutil.copytree(VERSIONS.parent, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "versions" / "r9998_colour.py").write_text(FURTHER.format(newest=newest, then=then))
        monkeypatch.setattr(migrate, "_MIGRATIONS", folder)
        monkeypatch.setattr(revision_module, "VERSIONS", folder / "versions")
        known.cache_clear()

    newest = known()[-1]
    yield add
    monkeypatch.undo()
    known.cache_clear()


async def test_services_that_start_together_migrate_once(url: str, engine: AsyncEngine, further) -> None:
    await put(engine, RELEASES[0])
    further()
    assert not await is_newest(engine)
    for store in await asyncio.gather(*(open_store(url) for _ in range(4))):
        async with store.read() as tx:
            assert {task.name for task in await tx.tasks.unfinished()} >= {"waiting", "of-bob"}
        await store.close()
    assert (await revision(engine), await is_newest(engine)) == ("9998", True)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE hai_specs SET colour = 'red'"))


@pytest.fixture
def undone(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Goes back to the code before `further`."""

    def undo() -> None:
        monkeypatch.undo()
        known.cache_clear()

    return undo


async def test_older_code_uses_the_tables_of_newer_code_that_only_added(
    url: str, engine: AsyncEngine, further, undone: Callable[[], None]
) -> None:
    further()
    newer = await open_store(url)
    undone()
    older = await open_store(url)
    for store in (newer, older, newer):
        async with store.write() as tx:
            made = await tx.tasks.add(a_task(), a_spec())
            assert (await tx.tasks.get_spec(made.id)).command == a_spec().command
    await newer.close()
    await older.close()
    assert await revision(engine) == "9998"


async def test_older_code_leaves_tables_alone_from_which_something_was_taken_away(
    url: str, engine: AsyncEngine, further, undone: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await open_store(url)).close()
    further()
    monkeypatch.setattr(revision_module, "USABLE_FROM", "9998")
    await (await open_store(url)).close()
    undone()
    before = await everything_in(engine)
    with pytest.raises(StateTooNew, match="9998"):
        await open_store(url)
    assert await everything_in(engine) == before


async def test_a_migration_that_fails_leaves_nothing_behind(engine: AsyncEngine, further) -> None:
    await put(engine, RELEASES[0])
    before = await everything_in(engine)
    further("""op.execute("UPDATE hai_nothing SET a = 1")""")
    with pytest.raises(Exception, match="hai_nothing"):
        await upgrade(engine)
    assert await everything_in(engine) == before


def test_the_migrations_are_one_line_and_their_files_are_named_after_them() -> None:
    scripts = ScriptDirectory.from_config(migrate.config())
    assert [script.revision for script in scripts.walk_revisions()] == list(reversed(known()))
    assert (known()[0], len(scripts.get_heads())) == (FIRST, 1)


def test_only_a_state_of_another_revision_needs_alembic(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "hai.sqlite")
    opened = (
        "import asyncio, sys\n"
        "from hai_scheduler.store.store import open_store\n"
        "asyncio.run(open_store(sys.argv[1]))\n"
        "print('alembic' in sys.modules)\n"
    )

    def needs() -> str:
        done = subprocess.run([sys.executable, "-c", opened, url], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    async def go_on() -> None:
        engine = connect(parse(url))
        await set_revision(engine, "9999")
        await engine.dispose()

    said = [needs(), needs()]
    asyncio.run(go_on())
    assert [*said, needs()] == ["False", "False", "True"]


# -- new states ----------------------------------------------------------------------------------------------


async def test_services_that_start_together_make_the_tables_once(url: str) -> None:
    stores = await asyncio.gather(*(open_store(url) for _ in range(4)))
    for number, store in enumerate(stores, 1):
        async with store.write() as tx:
            assert (await tx.tasks.add(a_task(), a_spec())).id == number
        await store.close()


async def test_the_database_may_be_the_hubs(url: str, engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        await connection.execute(text("INSERT INTO alembic_version VALUES ('the hubs')"))
        await connection.execute(text("CREATE TABLE users (id INTEGER)"))
    try:
        await (await open_store(url)).close()
        async with engine.connect() as connection:
            assert (await connection.execute(text("SELECT * FROM alembic_version"))).all() == [("the hubs",)]
    finally:
        async with engine.begin() as connection:
            await connection.execute(text("DROP TABLE alembic_version"))
            await connection.execute(text("DROP TABLE users"))


async def test_a_new_file_is_for_its_owner_alone_in_a_folder_that_is_made(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "100%.sqlite"
    store = await open_store(sqlite_url(path))
    async with store.write() as tx:
        await tx.settings.put("a", "b")
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()} == {0o600}
    await store.close()


async def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("this is not a database, " * 100)
    with pytest.raises(Exception, match="not a database"):
        await open_store(sqlite_url(path))
    assert path.read_text() == "this is not a database, " * 100


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://u:secret@h/d", "postgres"], ids=str)
async def test_other_databases_are_refused_without_showing_a_password(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///PATH") as caught:
        await open_store(url)
    assert "secret" not in str(caught.value)


async def test_a_server_that_is_not_there_is_a_reason_to_try_again() -> None:
    with pytest.raises(Temporary) as caught:
        await open_store("postgresql://hai:secret@127.0.0.1:1/hai")
    assert "secret" not in str(caught.value)


async def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "hai.sqlite"
    file.write_bytes(b"no database at all, but somebody's own words")
    with pytest.raises(StateDamaged, match=r"hai\.sqlite"):
        await open_store(sqlite_url(file))
    assert file.read_bytes().startswith(b"no database")
