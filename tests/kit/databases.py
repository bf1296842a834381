"""Databases for tests: SQLite files, and a PostgreSQL that is thrown away.

PostgreSQL is the one that `HAI_TEST_POSTGRES` names (`postgresql://...`; its `hai_` tables are emptied: give it a
database of its own), or one that is started here from the binaries on this machine.
"""

from __future__ import annotations

import atexit
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update

from hai_scheduler.store.engine import connect, parse
from hai_scheduler.store.revision import VERSION_TABLE
from hai_scheduler.store.tables import DATABASE

#: Seconds that a PostgreSQL server gets to answer.
_START = 30.0


def sqlite_url(path: Path) -> str:
    """The SQLAlchemy URL of a SQLite file."""
    return f"sqlite:///{path}"


def postgres_url() -> str:
    """The URL of the throw-away PostgreSQL; skips the test, with the reason, where there is none."""
    url, why = _postgres()
    if url is None:
        pytest.skip(f"no PostgreSQL: {why}")
    return url


@contextmanager
def own_postgres() -> Iterator[PostgresServer]:
    """A server of a test's own, which it may stop and change; skips the test, with the reason, where there is none."""
    found = PostgresServer.find()
    if isinstance(found, str):
        pytest.skip(f"no PostgreSQL: {found}")
    try:
        yield found
    finally:
        found.remove()


async def empty_postgres(url: str, *, drop: bool = False) -> None:
    """Empty the tables that are there, or drop them all."""
    engine = connect(parse(url))
    async with engine.begin() as connection:
        # Not those of the code: a part of them may not be imported yet.
        names = set(await connection.scalars(text("SELECT tablename FROM pg_tables WHERE tablename LIKE 'hai\\_%'")))
        if drop and names:
            await connection.execute(text(f"DROP TABLE {', '.join(names)} CASCADE"))
        elif not drop:
            names -= {DATABASE.name, VERSION_TABLE}
            await connection.execute(text(f"TRUNCATE {', '.join(names)} RESTART IDENTITY"))
            # A new database has this row too: it is made with the tables.
            new = {"epoch": 1, "steps": 0, "number": 0, "first_task": 0, "above": 0}
            await connection.execute(update(DATABASE), {"name": secrets.token_hex(8), **new})
    await engine.dispose()


@cache
def _postgres() -> tuple[str | None, str]:
    given = os.environ.get("HAI_TEST_POSTGRES")
    if given:
        return given, ""
    try:
        found = PostgresServer.find()
        if isinstance(found, str):
            return None, found
        atexit.register(found.remove)
        found.start()
    except (OSError, subprocess.SubprocessError, TimeoutError) as error:
        return None, f"the server did not start: {error}"
    return found.url, ""


def _binaries() -> Path | None:
    """The folder of `initdb` and `postgres`, the newest if there are several."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name, reverse=True)
    return next((path for path in places if (path / "postgres").exists() and (path / "initdb").exists()), None)


def _owner() -> pwd.struct_passwd | None:
    """The account that runs the server: that of the tests, or for root `postgres` or `nobody`; None if missing."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


class PostgresServer:
    """A server on a socket of its own, which may be stopped and started again with its data.

    Raises:
        OSError, subprocess.SubprocessError: The data folder cannot be made.
    """

    def __init__(self, binaries: Path, owner: pwd.struct_passwd) -> None:
        self.binaries = binaries
        self._folder = Path(tempfile.mkdtemp(prefix="hai-pg-"))
        # Only the owner and root may enter this folder: the server asks for no password at the socket in it.
        os.chown(self._folder, owner.pw_uid, owner.pw_gid)
        as_owner = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        self._as_owner: dict[str, Any] = as_owner
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://hai@/postgres?host={self._folder}"
        subprocess.run(
            [binaries / "initdb", "-D", self._data, "-U", "hai", "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True,
            capture_output=True,
            cwd=self._folder,
            timeout=_START * 2,
            **self._as_owner,
        )

    @classmethod
    def find(cls) -> PostgresServer | str:
        """A server, not started yet, from binaries on this machine; or a text that says why there is none."""
        binaries = _binaries()
        if binaries is None:
            return "set HAI_TEST_POSTGRES to the URL of an empty database, or install the server"
        owner = _owner()
        if owner is None:
            return "the server refuses to run as root, and there is no user `postgres` or `nobody` to run it as"
        return cls(binaries, owner)

    @property
    def pid(self) -> int | None:
        """The process id of the postmaster; None if it does not run."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    @property
    def folder(self) -> Path:
        """The folder with the socket, the data (`data`) and the log; it belongs to the account of the server."""
        return self._folder

    def start(self, *more: str) -> None:
        """Start the server and wait until it takes connections.

        Args:
            more: Settings such as `ssl=on`, which win over those of these tests.

        Raises:
            OSError: The server ended.
            TimeoutError: The server does not get ready in time.
        """
        options = (
            "listen_addresses=", f"unix_socket_directories={self._folder}", "fsync=off", "max_connections=50"
        )  # fmt: skip
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self.binaries / "postgres",
                    "-D",
                    self._data,
                    *(word for o in (*options, *more) for word in ("-c", o)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                **self._as_owner,
            )
        _wait_until_ready(self._process, self._folder)

    def read_only(self, yes: bool) -> None:
        """Refuse every change from now on, as a standby or a server with a full disk does, or take them again."""
        (self._data / "postgresql.auto.conf").write_text(f"default_transaction_read_only = {'on' if yes else 'off'}\n")
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT cuts the connections off, SIGQUIT is PostgreSQL's immediate stop, as after a crash."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(_START)

    def remove(self) -> None:
        """End the server and remove its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _wait_until_ready(server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _START
    ready = folder / "data" / "postmaster.pid"
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise OSError((folder / "log").read_text(errors="replace")[-500:])
        # The last line of this file says `ready` once the server takes connections.
        if ready.exists() and ready.read_text().rstrip().endswith("ready"):
            return
        time.sleep(0.02)
    raise TimeoutError(f"not ready after {_START} s")
