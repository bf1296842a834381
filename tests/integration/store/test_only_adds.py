"""Revisions only add: the code of a release goes on with the tables of this code, unless `USABLE_FROM` denies it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.migrate import upgrade
from hai_scheduler.store.revision import USABLE_FROM, VERSION_TABLE
from upgrade.releases import RELEASES, put

Tables = Mapping[str, Mapping[str, Any]]


def tables_of(connection: Connection) -> Tables:
    look = inspect(connection)
    return {
        name: {
            "columns": {one["name"]: one for one in look.get_columns(name)},
            "rules": {
                *map(repr, look.get_unique_constraints(name)),
                *map(repr, look.get_check_constraints(name)),
                *map(repr, look.get_foreign_keys(name)),
                *(repr(one) for one in look.get_indexes(name) if one["unique"]),
                repr(look.get_pk_constraint(name)["constrained_columns"]),
            },
        }
        for name in look.get_table_names()
        if name.startswith("hai_")
    }


def hurt(before: Tables, after: Tables) -> list[str]:
    """Return what code that knows only `before` cannot do any more."""
    found = [f"{name} is gone" for name in before.keys() - after.keys()]
    for name in before.keys() & after.keys():
        old, new = before[name]["columns"], after[name]["columns"]
        found += [f"{name}.{column} is gone" for column in old.keys() - new.keys()]
        for column, one in new.items():
            known_before = old.get(column)
            if known_before is None:
                if not one["nullable"] and one["default"] is None:
                    found.append(f"{name}.{column} must be written")
            elif (repr(known_before["type"]), known_before["nullable"]) != (repr(one["type"]), one["nullable"]):
                found.append(f"{name}.{column} is of another kind")
        if after[name]["rules"] - before[name]["rules"]:
            found.append(f"{name} has another rule")
    return found


@pytest.mark.parametrize("version", RELEASES)
async def test_the_code_of_a_release_goes_on_with_the_tables_of_this_code(engine: AsyncEngine, version: str) -> None:
    await put(engine, version)
    async with engine.connect() as connection:
        revision = (await connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}"))).scalar_one()
        before = await connection.run_sync(tables_of)
    await upgrade(engine)
    async with engine.connect() as connection:
        found = hurt(before, await connection.run_sync(tables_of))
    assert revision < USABLE_FROM or found == []


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("CREATE TABLE hai_new (id INTEGER NOT NULL)", None),
        ("ALTER TABLE hai_old ADD COLUMN more TEXT", None),
        ("ALTER TABLE hai_old ADD COLUMN more INTEGER NOT NULL DEFAULT 0", None),
        ("CREATE INDEX hai_fast ON hai_old (name)", None),
        ("DROP TABLE hai_old", "hai_old is gone"),
        ("ALTER TABLE hai_old RENAME TO hai_other", "hai_old is gone"),
        ("ALTER TABLE hai_old DROP COLUMN name", "hai_old.name is gone"),
        ("ALTER TABLE hai_old RENAME COLUMN name TO title", "hai_old.name is gone"),
        ("CREATE UNIQUE INDEX hai_one ON hai_old (name)", "hai_old has another rule"),
        ("DROP TABLE hai_old; CREATE TABLE hai_old (id INTEGER PRIMARY KEY, name INTEGER)", "another kind"),
        ("DROP TABLE hai_old; CREATE TABLE hai_old (id INTEGER PRIMARY KEY, name TEXT NOT NULL)", "another kind"),
        (
            "DROP TABLE hai_old; CREATE TABLE hai_old (id INTEGER PRIMARY KEY, name TEXT, more TEXT NOT NULL)",
            "hai_old.more must be written",
        ),
        ("DROP TABLE hai_old; CREATE TABLE hai_old (id INTEGER PRIMARY KEY, name TEXT CHECK (id > 1))", "another rule"),
    ],
)
async def test_what_a_revision_may_and_may_not_do(engine: AsyncEngine, statement: str, found: str | None) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE hai_old (id INTEGER PRIMARY KEY, name TEXT)"))
        before = await connection.run_sync(tables_of)
        for one in statement.split("; "):
            await connection.execute(text(one))
        told = hurt(before, await connection.run_sync(tables_of))
    assert (told == []) == (found is None)
    assert re.search(found or "", "; ".join(told))
