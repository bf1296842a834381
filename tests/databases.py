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
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import text, update

from hai_scheduler.adapters.sql.engine import connect, parse
from hai_scheduler.adapters.sql.revision import VERSION_TABLE
from hai_scheduler.adapters.sql.tables import DATABASE, METADATA

#: Seconds that a PostgreSQL server gets to answer.
_START = 30.0


def sqlite_url(path: Path) -> str:
    """The URL of a file."""
    return f"sqlite:///{path}"


def postgres_url() -> str:
    """The URL of the throw-away PostgreSQL; skips the test, with the reason, where there is none."""
    url, why = _postgres()
    if url is None:
        pytest.skip(f"no PostgreSQL: {why}")
    return url


async def empty_postgres(url: str, *, drop: bool = False) -> None:
    """Empty the tables, or drop them all."""
    engine = connect(parse(url))
    async with engine.begin() as connection:
        if drop:
            await connection.run_sync(METADATA.drop_all)
            await connection.execute(text(f"DROP TABLE IF EXISTS {VERSION_TABLE}"))
        else:
            names = ", ".join(name for name in METADATA.tables if name != DATABASE.name)
            await connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY"))
            # As good as new: this row is made with the tables.
            new = {"epoch": 1, "steps": 0, "number": 0, "first_task": 0, "above": 0}
            await connection.execute(update(DATABASE), {"name": secrets.token_hex(8), **new})
    await engine.dispose()


@cache
def _postgres() -> tuple[str | None, str]:
    given = os.environ.get("HAI_TEST_POSTGRES")
    if given:
        return given, ""
    binaries = _binaries()
    if binaries is None:
        return None, "set HAI_TEST_POSTGRES to the URL of an empty database, or install the server"
    owner = _owner()
    if owner is None:
        return None, "the server refuses to run as root, and there is no user `postgres` or `nobody` to run it as"
    try:
        return _start(binaries, owner), ""
    except (OSError, subprocess.SubprocessError, TimeoutError) as error:
        return None, f"the server of {binaries} did not start: {error}"


def _binaries() -> Path | None:
    """The folder of `initdb` and `postgres`, the newest if there are several."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name, reverse=True)
    return next((path for path in places if (path / "postgres").exists() and (path / "initdb").exists()), None)


def _owner() -> pwd.struct_passwd | None:
    """Who runs the server: whoever runs the tests, or another for root."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def _start(binaries: Path, owner: pwd.struct_passwd) -> str:
    folder = Path(tempfile.mkdtemp(prefix="hai-pg-"))
    # Everybody but its owner, and root, stays out: whoever reaches the socket is let in.
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    data = folder / "data"
    as_owner = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
    subprocess.run(  # type: ignore[call-overload]
        [binaries / "initdb", "-D", data, "-U", "hai", "-A", "trust", "-E", "UTF8", "--no-sync"],
        check=True,
        capture_output=True,
        cwd=folder,
        timeout=_START * 2,
        **as_owner,
    )
    options = ("listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "max_connections=50")
    with (folder / "log").open("wb") as log:
        server: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
            [binaries / "postgres", "-D", data, *(word for option in options for word in ("-c", option))],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            **as_owner,
        )
    atexit.register(_stop, server)
    _wait_until_ready(server, folder)
    return f"postgresql://hai@/postgres?host={folder}"


def _stop(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is None:
        server.send_signal(signal.SIGINT)
        server.wait(_START)


def _wait_until_ready(server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _START
    ready = folder / "data" / "postmaster.pid"
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise OSError((folder / "log").read_text(errors="replace")[-500:])
        # Its last line says `ready` once connections are taken.
        if ready.exists() and ready.read_text().rstrip().endswith("ready"):
            return
        time.sleep(0.02)
    raise TimeoutError(f"not ready after {_START} s")
