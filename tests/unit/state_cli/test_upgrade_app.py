"""`hai upgrade --plan` on a state folder: what it reads, and that it changes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hai_client.errors import Invalid
from hai_scheduler import state_cli
from hai_scheduler.state_cli import upgrade_facts
from hai_scheduler.store import revision
from hai_scheduler.store.revision import VERSIONS, known
from hai_scheduler.store.store import open_store
from kit.databases import sqlite_url


@pytest.fixture
def state(tmp_path: Path) -> Path:
    state = tmp_path / "state"
    (state / "hub").mkdir(parents=True)
    (state / "runs").mkdir()
    remember(state)
    asyncio.run(made(state / "hai.sqlite"))
    return state


async def made(file: Path) -> None:
    await (await open_store(sqlite_url(file))).close()


def remember(state: Path, **more: object) -> None:
    (state / "state.json").write_text(json.dumps({"format": 1, "version": "0.0.9", **more}))


def settings(state: Path, **more: object) -> None:
    (state / "hub" / "settings.json").write_text(json.dumps({"service_port": 1, "base_url": "/", **more}))


def plan(state: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    before = everything(state)
    status = state_cli.upgrade(["--plan", "--json", "--state-dir", str(state)])
    assert everything(state) == before, "it only reads"
    return status, json.loads(capsys.readouterr().out)


def everything(state: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in state.rglob("*") if file.is_file()}


def test_the_same_version_needs_nothing(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = plan(state, capsys)
    assert (status, found["must"], found["before"], found["runs"]) == (0, False, "0.0.9", False)
    assert (found["database"]["revision"], found["revisions"]) == (known()[-1], [])


def test_while_others_write_it_reads_what_they_have_committed(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(state / "hai.sqlite")) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("UPDATE hai_revision SET version_num = '9999'")
        other.commit()
        assert (state / "hai.sqlite-wal").stat().st_size
        assert state_cli.upgrade(["--plan", "--json", "--state-dir", str(state)]) == 0
    assert json.loads(capsys.readouterr().out)["database"]["revision"] == "9999"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("UPDATE hai_settings SET value = '9999' WHERE name = 'usable_from'", ("9999", "start the version that has")),
        ("UPDATE hai_revision SET version_num = '0001'", ("0001", "move it away")),
        ("DROP TABLE hai_revision", ("hai.sqlite cannot be read", "no such table")),
    ],
)
def test_a_database_that_it_cannot_use_comes_first(
    state: Path, capsys: pytest.CaptureFixture[str], changed: str, words: tuple[str, ...]
) -> None:
    with closing(sqlite3.connect(state / "hai.sqlite")) as database:
        database.execute("UPDATE hai_revision SET version_num = '9999'")
        database.execute(changed)
        database.commit()
    status, found = plan(state, capsys)
    assert status == 1
    assert all(word in found["first"][0] for word in words), found["first"]


def test_without_a_database_the_start_makes_one(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state / "hai.sqlite").unlink()
    status, found = plan(state, capsys)
    assert (status, found["database"]["revision"]) == (0, None)


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The installed code has a revision more."""
    folder = tmp_path / "versions"
    shutil.copytree(VERSIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "r9998_colours.py").write_text('"""Tasks may have a colour."""\n')
    monkeypatch.setattr(revision, "VERSIONS", folder)
    monkeypatch.setattr(upgrade_facts, "VERSIONS", folder)
    known.cache_clear()
    yield
    known.cache_clear()


@pytest.mark.parametrize("usable_from", ["0026", "9998"])
def test_revisions_are_told_with_what_they_do(
    state: Path, capsys: pytest.CaptureFixture[str], newer: None, monkeypatch: pytest.MonkeyPatch, usable_from: str
) -> None:
    monkeypatch.setattr(upgrade_facts, "USABLE_FROM", usable_from)
    status, found = plan(state, capsys)
    assert (status, found["revisions"]) == (1, [["9998", "Tasks may have a colour."]])
    assert found["first"] == [f"copy the database: hai backup --state-dir {state} hai-0.0.9.sqlite"]
    assert any("hai restore" in line for line in found["back"]) == (usable_from == "9998")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://u:secret@127.0.0.1:1/d", "postgresql+psycopg://u:***@127.0.0.1:1/d cannot be read"),
        ("mysql://u:secret@h/d", "HaiScheduler.db_url: "),
        ("nonsense", "HaiScheduler.db_url: "),
    ],
)
def test_a_database_that_cannot_be_asked_is_named_without_its_password(
    state: Path, capsys: pytest.CaptureFixture[str], url: str, words: str
) -> None:
    file = state.parent / "scheduler.json"
    file.write_text(json.dumps({"HaiScheduler": {"db_url": url}}))
    settings(state, scheduler_config=str(file))
    try:
        status, found = plan(state, capsys)
    except Invalid as refused:
        said = str(refused)
    else:
        (said,) = found["first"]
        assert status == 1
    assert words in said
    assert "secret" not in said
    assert "\n" not in said


@pytest.mark.parametrize("kind", ["py", "json"])
def test_settings_that_are_gone_are_named(state: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    file = state.parent / f"scheduler.{kind}"
    written = {"HaiScheduler": {"former": 1, "workers": 2}, "ApiLimits": {}, "Gone": {"a": 1}, "Application": {}}
    lines = [f"c.{section}.{name} = {value}" for section, all_ in written.items() for name, value in all_.items()]
    file.write_text(json.dumps(written) if kind == "json" else "\n".join(lines))
    settings(state, scheduler_config=str(file))
    status, found = plan(state, capsys)
    assert (status, found["unknown_settings"]) == (1, ["Gone.a", "HaiScheduler.former"])


def test_the_platform_runs_if_one_of_its_processes_lives(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remember(state, loop_process=f"{os.getpid()}:{upgrade_facts.fingerprint(os.getpid())}")
    settings(state)
    status, found = plan(state, capsys)
    # Nothing answers at that port: the version is that of the last start.
    assert (status, found["runs"], found["before"]) == (0, True, "0.0.9")
    remember(state, loop_process=f"{os.getpid()}:another")
    assert plan(state, capsys)[1]["runs"] is False


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda state: (state / "state.json").unlink(), "no folder of `hai up`"),
        (lambda state: (state / "state.json").write_text("{"), "cannot be read"),
        (lambda state: (state / "state.json").write_text("[]"), "cannot be read"),
        (lambda state: (state / "hub" / "settings.json").write_text('{"scheduler_config": "/no/such.py"}'), "such.py"),
    ],
)
def test_what_it_cannot_read_is_named(state: Path, spoil, words: str) -> None:
    spoil(state)
    with pytest.raises(Invalid, match=words):
        state_cli.upgrade(["--plan", "--state-dir", str(state)])


def test_it_upgrades_nothing(state: Path) -> None:
    with pytest.raises(Invalid, match="--plan"):
        state_cli.upgrade(["--state-dir", str(state)])
