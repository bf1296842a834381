"""Keeps the databases that the last release has filled: `PYTHONPATH=tests:tools python -m upgrade.filling`.

It writes `databases/VERSION.sqlite.gz` and `databases/VERSION.sql.gz`, a dump of PostgreSQL, when a release is cut.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ci import last_release
from e2e.conftest import ROOT, Platform
from kit.databases import PostgresServer
from kit.waiting import wait_for
from upgrade.conftest import checked_out, installed

KEPT = Path(__file__).with_name("databases")


def main() -> None:
    """Fill a platform's database of each kind, and keep both."""
    with tempfile.TemporaryDirectory(prefix="hai-filling-") as place:
        folder = Path(place)
        programs = installed(checked_out(folder / "tree"), folder / "environment").bin
        sqlite = folder / "copy.sqlite"
        platform = Platform(_made(folder / "on-sqlite"), nodes=4, bin=programs)
        _fill(platform, lambda: platform.hai("backup", "--state-dir", str(platform.state), str(sqlite)))
        _keep("sqlite", sqlite.read_bytes())
        server = PostgresServer.find()
        if isinstance(server, str):
            sys.exit(f"no PostgreSQL: {server}")
        try:
            server.start()
            config = folder / "scheduler.py"
            config.write_text(f"c.HaiScheduler.db_url = {server.url!r}\n")
            options = ("--scheduler-config", str(config))
            platform = Platform(_made(folder / "on-postgresql"), nodes=4, bin=programs, options=options)
            _fill(platform, lambda: _keep("sql", _dumped(server)))
        finally:
            server.remove()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _keep(kind: str, content: bytes) -> None:
    KEPT.mkdir(exist_ok=True)
    file = KEPT / f"{last_release.VERSION}.{kind}.gz"
    file.write_bytes(gzip.compress(content, 9, mtime=0))
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size} bytes")


def _dumped(server: PostgresServer) -> bytes:
    words = [str(server.binaries / "pg_dump"), "--no-owner", "--no-privileges", "--inserts", "-h", str(server.folder)]
    said = subprocess.run([*words, "-U", "hai", "postgres"], capture_output=True, text=True, check=True).stdout
    # What only psql understands, and settings of the version that has dumped it.
    return re.sub(r"(?m)^(--.*|\\.*|SET .*|SELECT pg_catalog.set_config.*|)\n", "", said).encode()


def _fill(platform: Platform, then: Callable[[], object]) -> None:
    try:
        platform.start()
        _use(platform)
        then()
    finally:
        platform.end()


def _use(platform: Platform) -> None:
    """Do what people do: tasks in all states, and what admins set."""
    bob = "bob"
    platform.token(bob)
    platform.hai("admin", "quota", "set", "user:bob", "NORMAL", "2", "--ceiling", "3")
    platform.hai("admin", "quota", "set", "public", "LOW", "4")
    platform.hai("admin", "policy", "set", "slice=90m", "weights.bob=2")
    platform.hai("admin", "rates", "set", "EUR", "--gpu-hour", "1.20", "--from", "2026-11-01")
    platform.hai("admin", "budgets", "set", "cv", "500", "gpu-hours", "--per", "30d")
    platform.hai("admin", "mounts", "set", "scratch", "public", "/scratch", "--host-path", "/tmp", "--write")
    done = _submit(platform, "done", "echo saved; echo 1 > $HAI_CHECKPOINT_DIR/step-1.pt")
    broken = _submit(platform, "broken", "echo trouble >&2; exit 3", "--nodes", "2")
    _until(platform, done, "succeeded")
    _until(platform, broken, "failed")
    endless = "trap 'exit 0' TERM; while :; do sleep 0.2; done"
    _until(platform, left := _submit(platform, "left", endless, "--nodes", "4"), "running")
    _until(platform, _submit(platform, "urgent", endless, "--nodes", "3", "--priority", "VERY_HIGH"), "running")
    _until(platform, left, "suspended")
    wait_for("what it uses to be kept", lambda: _measured(platform, "urgent") == 3)
    stopped = _submit(platform, "stopped", endless)
    _until(platform, stopped, "running")
    platform.hai("stop", "stopped")
    _until(platform, stopped, "stopped")
    _submit(platform, "waiting", endless, "--nodes", "2", "--priority", "LOW", "--env", "WORD=值")
    platform.hai("hold", "waiting")
    platform.hai("tag", "waiting", "sweep", "later")
    platform.hai("star", "done")
    _submit(platform, "of-bob", endless, "--nodes", "2", user=bob)
    platform.hai("admin", "cordon", platform.json("nodes")["items"][3]["name"])


def _submit(platform: Platform, name: str, shell: str, *options: str, user: str = "ann") -> int:
    words = ["submit", "--name", name, "--cwd", "/", *options, "--", "sh", "-c", shell]
    return int(platform.json(*words, user=user)["id"])


def _measured(platform: Platform, task: str) -> int:
    """The number of ranks with points."""
    return sum(bool(rank.at) for run in platform.client().metrics(task).runs for rank in run.ranks)


def _until(platform: Platform, task: int, state: str) -> None:
    wait_for(f"task {task} to be {state}", lambda: platform.json("status", str(task))["state"] == state)


if __name__ == "__main__":
    main()
