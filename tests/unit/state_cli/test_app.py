"""`hai backup` and `hai restore`: what is refused, and what a failure leaves behind."""

from __future__ import annotations

import asyncio
import fcntl
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hai_client.errors import Invalid
from hai_client.settings import Settings, save
from hai_scheduler.adapters.local.marks import Marks
from hai_scheduler.app.state_lock import StateLock
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.state_cli.app import run_backup, run_restore
from hai_scheduler.store.revision import known
from hai_scheduler.store.store import open_store
from kit.builders import a_spec, a_task
from kit.databases import sqlite_url


async def _fill(path: Path, names: list[str], holder: str | None = None) -> Mark:
    store = await open_store(sqlite_url(path))
    async with store.write() as tx:
        for name in names:
            await tx.tasks.add(a_task(name=name), a_spec())
        if holder is not None:
            await tx.lease.acquire(holder, now=datetime.now(UTC), length=timedelta(minutes=1))
        mark = await tx.database.mark()
    await store.close()
    return mark


def fill(path: Path, *names: str, holder: str | None = None) -> Mark:
    """Make the database, or go on with it; how far it has come then."""
    return asyncio.run(_fill(path, list(names), holder))


def tasks(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT name FROM hai_tasks ORDER BY id")]
    finally:
        connection.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    state = tmp_path / "state"
    state.mkdir()
    fill(state / "hai.sqlite", "a", "b")
    return state


def test_the_folder_is_that_of_the_platform_that_hai_speaks_to(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("HAI_URL", raising=False)
    with pytest.raises(Invalid, match=str(tmp_path / "XDG_STATE_HOME/hai")):
        run_backup([str(tmp_path / "none.sqlite")])
    save(Settings("http://127.0.0.1:8000", "token", "ann", state_dir=str(state)))
    assert run_backup([str(tmp_path / "copy.sqlite")]) == 0
    assert tasks(tmp_path / "copy.sqlite") == ["a", "b"]
    monkeypatch.setenv("HAI_URL", "http://127.0.0.1:9")
    with pytest.raises(Invalid, match=str(tmp_path / "XDG_STATE_HOME/hai")):
        run_backup([str(tmp_path / "another.sqlite")])


def words(state: Path, file: Path) -> list[str]:
    return ["--state-dir", str(state), str(file)]


def names_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir() if not entry.name.endswith(("-wal", "-shm"))}


def test_a_backup_is_whole_for_its_owner_alone_and_overwrites_nothing(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    assert run_backup(words(state, file)) == 0
    assert tasks(file) == ["a", "b"]
    assert file.stat().st_mode & 0o777 == 0o600
    fill(state / "hai.sqlite", "c")
    with pytest.raises(Invalid, match="is there already"):
        run_backup(words(state, file))
    assert tasks(file) == ["a", "b"]


def test_a_restore_begins_an_epoch_and_keeps_what_was_there(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    run_backup(words(state, file))
    fill(state / "hai.sqlite", "c")
    assert run_restore(words(state, file)) == 0
    assert tasks(state / "hai.sqlite") == ["a", "b"]
    (kept,) = (name for name in names_in(state) if "replaced" in name)
    assert tasks(state / kept) == ["a", "b", "c"]
    mark = fill(state / "hai.sqlite")
    assert (mark.epoch, mark.task) == (2, 1000)
    assert Marks(state / "runs").all() == [mark]
    assert tasks(file) == ["a", "b"], "the backup itself is left as it was"


def test_for_programs_it_is_json(state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "copy"
    assert run_backup([*words(state, file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(file)}
    assert run_restore([*words(state, file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["epoch"], said["first_task"], said["known"], said["orphans"]) == (2, 1001, [], [])


def test_it_is_refused_while_hai_up_has_the_folder(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    run_backup(words(state, file))
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Invalid, match="hai up"):
            run_restore(words(state, file))
    run_restore(words(state, file))


def test_it_is_refused_while_a_service_schedules(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    run_backup(words(state, file))
    fill(state / "hai.sqlite", holder="somewhere:17")
    with pytest.raises(Invalid, match="somewhere:17"):
        run_restore(words(state, file))
    assert tasks(state / "hai.sqlite") == ["a", "b"]


@pytest.mark.parametrize("alone", [True, False], ids=["the only API", "one of several"])
def test_it_is_refused_while_an_api_uses_the_folder(state: Path, tmp_path: Path, alone: bool) -> None:
    file = tmp_path / "copy"
    assert run_backup(words(state, file)) == 0
    lock = StateLock.try_take_for_api(state, alone=alone)
    assert lock is not None
    with pytest.raises(Invalid, match="a scheduler service uses"):
        run_restore(words(state, file))
    lock.free()
    assert run_restore(words(state, file)) == 0


def test_it_is_refused_while_a_service_uses_the_folder_that_does_not_lead(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    run_backup(words(state, file))
    service = StateLock.try_take(state, "somewhere:17")
    assert service is not None
    with pytest.raises(Invalid, match="a scheduler service uses"):
        run_restore(words(state, file))
    service.free()
    run_restore(words(state, file))
    after = StateLock.try_take(state, "somewhere:18")
    assert after is not None
    assert after.predecessor == "somewhere:17", "the next service still learns whose lease counts no more"
    after.free()


def damaged(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[8192:16384] = b"\xff" * 8192
    file.write_bytes(data)


def foreign(file: Path) -> None:
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE notes (text)")
    connection.commit()
    connection.close()


def no_database(file: Path) -> None:
    file.write_text("words, many words " * 100)


def newer(file: Path, usable_from: str = "9999") -> None:
    connection = sqlite3.connect(file)
    connection.execute("UPDATE hai_revision SET version_num = '9999'")
    connection.execute("UPDATE hai_settings SET value = ? WHERE name = 'usable_from'", [usable_from])
    connection.commit()
    connection.close()


def test_a_copy_of_newer_code_that_this_code_can_use_is_restored(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    run_backup(words(state, file))
    newer(file, known()[-1])
    assert run_restore(words(state, file)) == 0
    with closing(sqlite3.connect(state / "hai.sqlite")) as restored:
        assert restored.execute("SELECT version_num FROM hai_revision").fetchall() == [("9999",)]


@pytest.mark.parametrize("spoil", [damaged, foreign, no_database, newer, Path.unlink])
def test_what_cannot_be_restored_changes_nothing(state: Path, tmp_path: Path, spoil) -> None:
    file = tmp_path / "copy"
    run_backup(words(state, file))
    spoil(file)
    before = fill(state / "hai.sqlite")
    here = names_in(state)
    with pytest.raises(Invalid, match="copy"):
        run_restore(words(state, file))
    locks = {"lock", "service.lock", "api.lock"}
    assert names_in(state) - locks == here - locks
    assert fill(state / "hai.sqlite") == before


def test_marks_that_cannot_be_read_are_no_reason_to_begin_again(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    run_backup(words(state, file))
    marks = Marks(state / "runs")
    marks.put(fill(state / "hai.sqlite"))
    marks.path.write_text("{")
    with pytest.raises(Temporary, match="cannot be understood"):
        marks.all()
    with pytest.raises(Invalid, match="nothing was restored"):
        run_restore(words(state, file))
    assert fill(state / "hai.sqlite").epoch == 1


def test_without_a_database_a_backup_is_put_in_place_all_the_same(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "copy"
    run_backup(words(state, file))
    for entry in state.glob("hai.sqlite*"):
        entry.unlink()
    assert run_restore(words(state, file)) == 0
    assert tasks(state / "hai.sqlite") == ["a", "b"]
