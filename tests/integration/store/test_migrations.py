"""From any state to the tables of this code, and back; on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.leaving import Left, Source
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.store.engine import connect, parse
from hai_scheduler.store.migrate import downgrade, head, scripts, upgrade
from hai_scheduler.store.revision import VERSION_TABLE, StateDamaged, StateTooNew, is_newest, newest
from hai_scheduler.store.store import open_store
from hai_scheduler.store.tables import METADATA
from kit.builders import a_quota, a_spec, a_task, at
from kit.databases import sqlite_url
from kit.first_state import a_first_state


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
            assert (await tx.tasks.add(a_task(), a_spec())).id == number
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


#: A copy of the first task, in the tables of any revision.
_A_TASK_OF_0007 = text(
    "INSERT INTO hai_tasks (name, user_name, group_name, nodes, submitted_at, waiting_since, profile, grace, state,"
    " ended, held, run_number, served, suspensions, failed_starts, version, saved_at) SELECT name, user_name,"
    " group_name, nodes, submitted_at, waiting_since, profile, grace, state, ended, held, run_number, served,"
    " suspensions, failed_starts, version, saved_at FROM hai_tasks WHERE id = 1"
)


async def test_a_state_of_the_first_version_is_taken_over(url: str, engine: AsyncEngine) -> None:
    await a_first_state(engine)
    store = await open_store(url)
    async with store.read() as tx:
        (task,) = await tx.tasks.unfinished()
        assert task.waiting_since == datetime(1970, 1, 1, 0, 0, 7, 1, tzinfo=UTC), "what was called its place"
        assert (task.gpus, task.retry, task.retries, task.not_before, task.rotations) == (None, None, 0, None, ())
        spec = await tx.tasks.get_spec(task.id)
        assert (spec.command, spec.environment) == (("python",), None)
        assert (list(await tx.mount_rules.all()), list(await tx.environments.all())) == ([], [])
        assert task.run is not None
        assert [(rank.node, rank.gpus) for rank in task.run.ranks] == [("node-0", ()), ("node-1", ())]
        assert task.run.failed_ranks == ()
        assert list(await tx.runs.of_task(task.id)) == [task.run]
        assert list(await tx.quotas.all()) == [a_quota(limit=4)]
        assert await tx.nodes.marks() == {"node-1": NodeMark.CORDONED}
        assert (list(await tx.uses.all()), list(await tx.nodes.strikes())) == ([], [])
    async with store.write() as tx:
        assert (await tx.tasks.save(task)).version == task.version + 1
        assert (await tx.tasks.add(a_task(), a_spec())).id == 3, "the id of the deleted task is not given again"
    await store.close()


async def test_of_a_failure_in_the_first_version_every_rank_with_a_status_is_named(
    url: str, engine: AsyncEngine
) -> None:
    await a_first_state(engine)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE hai_runs SET reason = 'failed'"))
    store = await open_store(url)
    async with store.read() as tx:
        (task,) = await tx.tasks.unfinished()
    assert task.run is not None
    assert task.run.failed_ranks == (0, 1)
    await store.close()


async def test_an_older_state_gets_a_name_and_its_runs_stay_its_own(url: str, engine: AsyncEngine) -> None:
    await a_first_state(engine)
    store = await open_store(url)
    async with store.read() as tx:
        mark = await tx.database.mark()
        origins = await tx.runs.origins([TaskId(1)])
    await store.close()
    assert (len(mark.database), mark.epoch, mark.steps, mark.task, mark.number) == (16, 1, 1, 2, 1)
    assert origins == {RunId("1.1"): None}, "it is not recorded which database decided the run"


_SPEC_OF_A_RUN_PER_GPU = text(
    "INSERT INTO hai_specs (task_id, command, cwd, env, tags) VALUES (:task, '[\"python\"]', '/', :env, '[]')"
)


async def test_how_often_a_command_runs_is_taken_from_the_variables_and_put_back(url: str, engine: AsyncEngine) -> None:
    """Revision 7 kept it among the variables of a task."""
    name = "HAI_RANKS_PER_NODE"
    kept = [{"A": "1", name: "gpu"}, {name: "8", "B": "ä"}, {}, {"A": f'"{name}": "3"'}]
    await a_first_state(engine)
    await upgrade(engine, "0007")
    async with engine.begin() as connection:
        for _ in range(3):
            await connection.execute(_A_TASK_OF_0007)
        await connection.execute(text("DELETE FROM hai_specs"))
        found = await connection.execute(text("SELECT id FROM hai_tasks ORDER BY id"))
        tasks = [TaskId(row[0]) for row in found]
        for task, env in zip(tasks, kept, strict=True):
            await connection.execute(_SPEC_OF_A_RUN_PER_GPU, {"task": task, "env": json.dumps(env)})
    store = await open_store(url)
    async with store.read() as tx:
        specs = [await tx.tasks.get_spec(task) for task in tasks]
    await store.close()
    assert [spec.ranks_per_node for spec in specs] == ["gpu", 8, None, None]
    assert [spec.env for spec in specs] == [{"A": "1"}, {"B": "ä"}, {}, kept[3]]
    await downgrade(engine, "0007")
    async with engine.connect() as connection:
        rows = await connection.execute(text("SELECT env FROM hai_specs ORDER BY task_id"))
        assert [env if isinstance(env, dict) else json.loads(env) for (env,) in rows] == kept


async def test_tags_of_earlier_tasks_are_found_after_the_migration(url: str, engine: AsyncEngine) -> None:
    await a_first_state(engine)
    async with engine.begin() as connection:
        await connection.execute(text("""UPDATE hai_specs SET tags = '["sweep", "ä", "sweep"]'"""))
    store = await open_store(url)
    async with store.read() as tx:
        for tag, found in (("sweep", 1), ("ä", 1), ("none", 0)):
            assert await tx.tasks.count(TaskFilter(tag=tag)) == found
        assert (await tx.tasks.get_spec(TaskId(1))).tags == ("sweep", "ä", "sweep")
    await store.close()


async def test_going_back_to_the_first_tables_keeps_what_they_can_hold(url: str, engine: AsyncEngine) -> None:
    await a_first_state(engine)
    store = await open_store(url)
    async with store.write() as tx:
        await tx.nodes.put_mark("node-2", NodeMark.QUARANTINED)
        await tx.quotas.put(a_quota(limit=5, ceiling=6, expires_at=at()))
    await store.close()
    await downgrade(engine, "0001")
    async with engine.connect() as connection:

        async def rows(statement: str) -> list[tuple[object, ...]]:
            return [tuple(row) for row in await connection.execute(text(statement))]

        assert await rows("SELECT id, place FROM hai_tasks") == [(1, 7000001)]
        assert await rows("SELECT task_id, number FROM hai_runs") == [(1, 1)]
        assert await rows("SELECT task_id FROM hai_specs") == [(1,)]
        assert await rows("SELECT * FROM hai_quotas") == [("user:alice", "training", 10, 5)]
        assert await rows("SELECT node FROM hai_node_marks") == [("node-1",)], "the first version knows no quarantine"


async def test_the_tables_of_the_code_are_those_of_the_migrations(engine: AsyncEngine) -> None:
    await upgrade(engine)

    def differences(connection: Connection) -> list[object]:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), METADATA))

    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []


def made_of(connection: Connection) -> dict[str, object]:
    """All that the database knows of our tables, and the rows that are there from the beginning."""
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
            "rows": [
                {name: value for name, value in row.items() if (table, name) != ("hai_database", "name")}
                for row in connection.execute(text(f"SELECT * FROM {table}")).mappings()
            ],
        }
    if connection.dialect.name == "sqlite":
        words = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE name LIKE 'hai_%'")).all()
        found["words"] = {
            name: {word for word in ("AUTOINCREMENT", "WITHOUT ROWID") if word in sql} for name, sql in words
        }
    else:
        found["sequences"] = sorted(look.get_sequence_names())
    return found


async def test_a_new_database_is_what_the_migrations_would_make_of_it(url: str, engine: AsyncEngine) -> None:
    await (await open_store(url)).close()
    async with engine.begin() as connection:
        at_once = await connection.run_sync(made_of)
        await connection.run_sync(METADATA.drop_all)
        await connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
    await upgrade(engine)
    async with engine.connect() as connection:
        assert await connection.run_sync(made_of) == at_once


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


def test_the_newest_revision_is_found_without_alembic() -> None:
    assert newest() == head()


async def test_one_look_tells_whether_anything_is_to_be_migrated(engine: AsyncEngine) -> None:
    assert not await is_newest(engine), "there are no tables"
    await upgrade(engine)
    assert await is_newest(engine)
    await downgrade(engine, "-1")
    assert not await is_newest(engine)


def test_only_an_older_state_needs_alembic(tmp_path: Path) -> None:
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

    async def go_back() -> None:
        engine = connect(parse(url))
        await downgrade(engine, "-1")
        await engine.dispose()

    said = [needs(), needs()]
    asyncio.run(go_back())
    assert [*said, needs()] == ["False", "False", "True"]


async def test_what_was_called_clean_is_saved_only_where_something_shows_it(url: str, engine: AsyncEngine) -> None:
    await a_first_state(engine)
    await upgrade(engine, "0006")
    notice = {"reason": "preempted", "at": 50, "deadline": 60, "limit": 60, "beneficiary": None, "revision": 1}
    cases = {  # number: clean, done, checkpoint at
        2: (True, False, None),
        3: (True, False, 49),
        4: (True, False, 50),
        5: (True, True, None),
        6: (False, False, 55),
        7: (None, False, 55),
    }
    add = text(
        "INSERT INTO hai_runs (task_id, number, run_id, ranks, priority, started_at, ended_at, done, clean, notice,"
        " checkpoint) VALUES (1, :number, :run_id, '[]', 10, 1, 70, :done, :clean, :notice, :checkpoint)"
    )
    async with engine.begin() as connection:
        for number, (clean, done, at_) in cases.items():
            saved = None if at_ is None else json.dumps({"at": at_, "step": None, "path": None})
            values = {"number": number, "run_id": f"1.{number}", "done": done, "clean": clean}
            await connection.execute(add, {**values, "notice": json.dumps(notice), "checkpoint": saved})
    store = await open_store(url)
    async with store.read() as tx:
        runs = {run.number: run for run in await tx.runs.of_task(TaskId(1))}
        (task,) = await tx.tasks.unfinished()
    await store.close()
    assert {number: run.left for number, run in runs.items()} == {
        1: None,
        2: Left.UNKNOWN,
        3: Left.UNKNOWN,
        4: Left.SAVED,
        5: Left.SAVED,
        6: Left.ENDED,
        7: None,
    }
    assert runs[4].checkpoint is not None
    assert runs[4].checkpoint.source is Source.TOLD
    assert (task.unsaved, task.signal) == (0, None)
    await downgrade(engine, "0006")
    async with engine.connect() as connection:
        rows = await connection.execute(text("SELECT number, clean FROM hai_runs ORDER BY number"))
        back = {number: None if clean is None else bool(clean) for number, clean in rows}
    assert back == {1: None, 2: True, 3: True, 4: True, 5: True, 6: False, 7: None}
