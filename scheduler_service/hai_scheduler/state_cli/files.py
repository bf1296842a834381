"""Consistent copies of a SQLite database that may be in use, and their restore."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hai_client.errors import Invalid
from hai_scheduler.app.state_lock import API_FILE, FILE
from hai_scheduler.store.revision import FIRST, USABLE_FROM_SAID, VERSION_TABLE, known, takes

_COMPANIONS: Final = ("-wal", "-shm")


def copy_database(source: Path, target: Path) -> None:
    """Copy all committed data of a database, while others read and write it; flushed to disk when this returns.

    Raises:
        Invalid: The source is not a database of HAI or is damaged, or the target exists or cannot be written.
    """
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise Invalid(f"file: {target} is there already; choose another name") from None
    except OSError as error:
        raise Invalid(f"file: {target} cannot be written: {error.strerror}") from None
    try:
        with contextlib.closing(_open(source)) as read, contextlib.closing(sqlite3.connect(target)) as written:
            read.backup(written)
            check_database(written, source)
        _sync(target)
        _sync(target.parent)
    except sqlite3.Error as error:
        target.unlink()
        raise Invalid(f"{source} cannot be copied: {error}; give a file that `hai backup` has written") from None
    except BaseException:
        target.unlink()
        raise


def _open(source: Path) -> sqlite3.Connection:
    if not source.is_file():
        raise Invalid(f"there is no file {source}")
    return sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)


def check_database(connection: sqlite3.Connection, source: Path) -> None:
    """Check that a database is whole and of a version that this code knows.

    Args:
        connection: The database.
        source: Its name in messages.

    Raises:
        Invalid: The database is damaged, not HAI's, or of another version.
        sqlite3.Error: It cannot be read.
    """
    (said,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if said != "ok":
        raise Invalid(f"{source} is damaged: {said}; use an older backup")
    made = connection.execute("SELECT name FROM sqlite_master WHERE name = ?", (VERSION_TABLE,)).fetchone()
    rows = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}") if made else ()  # noqa: S608  # our own name
    found = [row[0] for row in rows]
    if not found:
        raise Invalid(f"{source} is no database of HAI's scheduler; give a copy of hai.sqlite")
    said = connection.execute("SELECT value FROM hai_settings WHERE name = ?", (USABLE_FROM_SAID,)).fetchone()
    if not takes(found[0], said[0] if said else None):
        knows = f"this version of HAI knows {FIRST} to {known()[-1]}: use the version that has written it"
        raise Invalid(f"{source} is of revision {found[0]}, and {knows}")


def replace_database(place: Path, new: Path) -> Path | None:
    """Put a new database in the place of the present one, and return where that one is kept; None if there was none.

    The old write-ahead log is moved first, so that a crash at any moment cannot leave the new file with the old log.
    """
    kept = place.with_name(f"{place.name}.replaced-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    for companion in _COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            place.with_name(place.name + companion).rename(kept.with_name(kept.name + companion))
    with contextlib.suppress(FileNotFoundError):
        kept.hardlink_to(place)
    new.replace(place)
    _sync(place.parent)
    return kept if kept.exists() else None


@contextlib.contextmanager
def alone(state_dir: Path) -> Iterator[None]:
    """Lock the state folder for the block, as `hai up` does. Raises Invalid if the folder is in use."""
    if not state_dir.is_dir():
        raise Invalid(f"state-dir: there is no folder {state_dir}; name the platform's with --state-dir")
    lock = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise Invalid(f"state-dir: `hai up` uses {state_dir}; stop it (Ctrl-C) first") from None
    try:
        with _no_service(state_dir):
            check_no_leader(state_dir / "hai.sqlite")
            yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def _no_service(state_dir: Path) -> Iterator[None]:
    """Keep scheduler services out for the block. Raises Invalid if a service of any role uses the folder."""
    with contextlib.ExitStack() as kept:
        for name in (FILE, API_FILE):
            # The file keeps its last owner: the next loop reads there whose lease is void.
            lock = os.open(state_dir / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            kept.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Invalid(f"state-dir: a scheduler service uses {state_dir}; stop it first") from None
        yield


def check_no_leader(database: Path) -> None:
    """Raise Invalid if a service schedules from the database; a service may run without `hai up`."""
    if not database.is_file():
        return
    try:
        with contextlib.closing(_open(database)) as read:
            row = read.execute("SELECT holder, expires_at FROM hai_lease WHERE holder IS NOT NULL").fetchone()
    except sqlite3.Error:
        return  # damaged, or not a database: that may be why a backup is restored
    now = datetime.now(UTC).timestamp()
    if row is not None and row[1] / 1_000_000 > now:
        left = row[1] / 1_000_000 - now
        raise Invalid(
            f"the scheduler service {row[0]} uses {database}; stop it, or wait {left:.0f} seconds if it was killed"
        )


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
