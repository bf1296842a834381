"""From any state to the tables of this code, and back; on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from builders import a_spec, a_task
from databases import empty_postgres, postgres_url, sqlite_url
from hai_scheduler.adapters.sql.engine import connect, parse
from hai_scheduler.adapters.sql.migrate import (
    VERSION_TABLE,
    StateDamaged,
    StateTooNew,
    downgrade,
    head,
    scripts,
    upgrade,
)
from hai_scheduler.adapters.sql.store import open_store
from hai_scheduler.adapters.sql.tables import METADATA
from hai_scheduler.ports import Temporary


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "hai.sqlite")
    url = postgres_url()
    await empty_postgres(url, drop=True)
    return url


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = connect(parse(url))
    yield engine
    await engine.dispose()


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


async def test_from_nothing_all_tables_are_made(url: str, engine: AsyncEngine) -> None:
    store = await open_store(url)
    assert await tables(engine) == {*METADATA.tables, VERSION_TABLE}
    assert await revision(engine) == head()
    await store.close()


async def test_opening_again_changes_nothing_and_keeps_what_is_there(url: str) -> None:
    for number in (1, 2, 3):
        store = await open_store(url)
        async with store.write() as tx:
            assert (await tx.add_task(a_task(), a_spec())).id == number
        await store.close()


async def test_up_down_and_up_again(engine: AsyncEngine) -> None:
    await upgrade(engine)
    await downgrade(engine, "base")
    assert await tables(engine) == {VERSION_TABLE}
    await upgrade(engine)
    assert await tables(engine) == {*METADATA.tables, VERSION_TABLE}


async def test_every_revision_goes_up_and_down_by_itself(engine: AsyncEngine) -> None:
    in_order = list(reversed(list(scripts().walk_revisions())))
    for script in in_order:
        await upgrade(engine, script.revision)
        assert await revision(engine) == script.revision
    for script in reversed(in_order):
        await downgrade(engine, str(script.down_revision or "base"))
    assert await tables(engine) == {VERSION_TABLE}


async def test_the_tables_of_the_code_are_those_of_the_migrations(engine: AsyncEngine) -> None:
    await upgrade(engine)

    def differences(connection: Connection) -> list[object]:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), METADATA))

    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_the_migrations_are_one_line() -> None:
    assert len(scripts().get_heads()) == 1


async def test_a_state_of_a_newer_version_is_left_alone_and_the_error_says_what_to_do(
    url: str, engine: AsyncEngine
) -> None:
    await upgrade(engine)
    await set_revision(engine, "9999")
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE hai_of_the_future (id INTEGER)"))
    before = await tables(engine)
    try:
        with pytest.raises(StateTooNew) as caught:
            await open_store(url)
        message = str(caught.value)
        assert (caught.value.found, caught.value.known) == ("9999", head())
        for part in (caught.value.place, "9999", head(), "Nothing was changed", "Install that version"):
            assert part in message
        assert await tables(engine) == before
        assert await revision(engine) == "9999"
    finally:
        async with engine.begin() as connection:
            await connection.execute(text("DROP TABLE hai_of_the_future"))
    await set_revision(engine, head())
    await (await open_store(url)).close()


async def test_a_newer_sqlite_file_stays_as_it_is_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "hai.sqlite"
    await (await open_store(sqlite_url(path))).close()
    engine = connect(parse(sqlite_url(path)))
    await set_revision(engine, "9999")
    await engine.dispose()
    before = path.read_bytes()
    with pytest.raises(StateTooNew, match=r"hai\.sqlite"):
        await open_store(sqlite_url(path))
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["hai.sqlite"]


async def test_a_migration_that_fails_leaves_nothing_behind(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine.begin() as connection:
        # In the way of the last table that the first revision makes.
        await connection.execute(text("CREATE TABLE hai_lease (odd INTEGER)"))
    with pytest.raises(Exception, match="hai_lease"):
        await upgrade(engine)
    assert await tables(engine) == {"hai_lease"}
    async with engine.begin() as connection:
        await connection.execute(text("DROP TABLE hai_lease"))
    await upgrade(engine)
    assert await tables(engine) == {*METADATA.tables, VERSION_TABLE}


async def test_services_that_start_together_make_the_tables_once(url: str) -> None:
    stores = await asyncio.gather(*(open_store(url) for _ in range(4)))
    for number, store in enumerate(stores, 1):
        async with store.write() as tx:
            assert (await tx.add_task(a_task(), a_spec())).id == number
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
        await tx.put_setting("a", "b")
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
