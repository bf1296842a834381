"""Databases that waiting does not mend are refused with a sentence; those that are away are worth another try."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_scheduler.ports.errors import Temporary
from hai_scheduler.store.engine import parse
from hai_scheduler.store.refusal import StateUnusable, refusal
from hai_scheduler.store.store import open_store
from kit.databases import postgres_url, sqlite_url

POSTGRES = parse("postgresql://hai:s3cret@db.example/hai")
SQLITE = parse("sqlite:////srv/hai.sqlite")


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[None]:
    """The test as an account that modes of files stop; root becomes another account for it."""
    if os.geteuid() != 0:
        yield
        return
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    os.seteuid(65534)
    yield
    os.seteuid(0)


async def make(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    await (await open_store(sqlite_url(path))).close()


@pytest.mark.parametrize("what", ["file", "folder", "nothing"])
async def test_a_sqlite_database_that_cannot_be_written_is_refused_with_the_remedy(
    tmp_path: Path, request: pytest.FixtureRequest, what: str
) -> None:
    path = tmp_path / "state" / "hai.sqlite"
    await make(path)
    if what == "nothing":
        path.unlink()
    path.parent.chmod(0o777 if what == "file" else 0o555)
    if what != "nothing":
        path.chmod(0o444 if what == "file" else 0o666)
    request.getfixturevalue("nobody")
    with pytest.raises(StateUnusable, match=r"hai\.sqlite cannot be written \(.+\): let the service's user write"):
        await open_store(sqlite_url(path))


async def test_a_file_that_is_in_the_way_of_the_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateUnusable, match="cannot be written"):
        await open_store(sqlite_url(tmp_path / "file" / "hai.sqlite"))


@pytest.mark.parametrize(("user", "name"), [("nobody-of-that-name", "postgres"), ("hai", "no-such-database")])
async def test_a_postgresql_that_does_not_let_the_service_in_is_refused(user: str, name: str) -> None:
    host = postgres_url().partition("?")[2]
    with pytest.raises(StateUnusable, match="does not exist") as refused:
        await open_store(f"postgresql://{user}:s3cret@/{name}?{host}")
    assert "s3cret" not in str(refused.value)
    assert "HAI_DB_URL" in str(refused.value)


async def test_a_postgresql_that_is_away_is_worth_another_try(tmp_path: Path) -> None:
    with pytest.raises(Temporary):
        await open_store(f"postgresql://hai@/hai?host={tmp_path}")
    with pytest.raises(Temporary):
        await open_store("postgresql://hai@127.0.0.1:9/hai")


@pytest.mark.parametrize(
    ("url", "words", "refused"),
    [
        (POSTGRES, 'FATAL:  password authentication failed for user "hai"', True),
        (POSTGRES, "fe_sendauth: no password supplied", True),
        (POSTGRES, 'FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "hai"', True),
        (POSTGRES, 'FATAL:  role "hai" does not exist', True),
        (POSTGRES, "FATAL:  the database system is starting up", False),
        (POSTGRES, "FATAL:  sorry, too many clients already", False),
        (POSTGRES, 'could not translate host name "db.example" to address: Name or service not known', False),
        (POSTGRES, "connection timeout expired", False),
        (SQLITE, "attempt to write a readonly database", True),
        (SQLITE, "unable to open database file", True),
        (SQLITE, "database or disk is full", False),
        (SQLITE, "database is locked", False),
    ],
)
def test_what_is_said_tells_what_may_pass_from_what_will_not(url: object, words: str, refused: bool) -> None:
    found = refusal(url, Temporary(f"the state database does not answer: {words}"))  # type: ignore[arg-type]
    assert (found is not None) == refused
    assert "s3cret" not in str(found)
