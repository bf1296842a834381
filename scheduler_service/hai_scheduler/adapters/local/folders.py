"""The folders in which runs live: `<runs>/<task id>/<run number>/<rank>/`. They outlive the service."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import random
import shutil
import socket
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hai_client.rank.processes import read_arguments
from hai_scheduler.core.model import Origin, RunId
from hai_scheduler.ports import NotFound

SPEC_SCHEMA = 1
_STATUS_SCHEMA = 1
#: Below the range that the kernel hands out by itself, so that a port stays free until the job binds it.
_PORTS = (20_000, 32_000)


def write_whole(path: Path, text: str) -> None:
    """Replace a file, readable by its owner only. Raises OSError."""
    draft = _draft(path, text)
    draft.replace(path)


def write_once(path: Path, text: str) -> bool:
    """Write a file unless it exists, whole in either case; whether it was written. Raises OSError."""
    draft = _draft(path, text)
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _draft(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        fd = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft


#: Below the folder of all runs: those that belong to no task of the database (decision 0016), with their logs.
ASIDE = ".aside"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What the folders of a run's ranks say of it."""

    #: None where nothing is written down, or nothing that can be read.
    origin: Origin | None = None
    #: Node names in rank order.
    nodes: tuple[str, ...] = ()
    user: str | None = None


class RunFolder:
    """The folder of one run."""

    def __init__(self, root: Path, run_id: RunId) -> None:
        task, dot, number = run_id.partition(".")
        if not (task.isdigit() and dot and number.isdigit()):
            raise NotFound(f"there is no run {run_id!r}")
        self._root = root
        self.run_id = run_id
        self.path = root / task / number

    @staticmethod
    def all(root: Path) -> Iterator[RunFolder]:
        """Every run that has left a folder."""
        for run in sorted(root.glob("[0-9]*/[0-9]*")):
            yield RunFolder(root, RunId(f"{run.parent.name}.{run.name}"))

    def make(self) -> None:
        """Create it. Raises OSError."""
        for folder in (self._root, self.path.parent, self.path):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def ranks(self) -> list[int]:
        """Ranks that have been prepared, whole."""
        if not self.path.is_dir():
            return []
        return sorted(int(entry.name) for entry in self.path.iterdir() if (entry / "spec.json").exists())

    def facts(self) -> RunFacts:
        """Whose run it is and where, as its ranks' `spec.json` say. Raises OSError."""
        specs = [self.rank(rank).spec() for rank in self.ranks()]
        first = specs[0] if specs else {}
        user = first.get("user")
        return RunFacts(
            origin=Origin.parse(str(first.get("origin"))),
            nodes=tuple(str(spec.get("node")) for spec in specs),
            user=user if isinstance(user, str) else None,
        )

    def put_aside(self, origin: Origin | None) -> Path | None:
        """Move it away from where runs are looked for; where to, None if there is nothing of it. Raises OSError.

        The name shows the database, its epoch and the run. One that is there already keeps its place.
        """
        place = self._root / ASIDE / str(origin or "unmarked") / self.path.parent.name
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = (f"{self.path.name}-{count}" for count in itertools.count(2))
        for name in itertools.chain([self.path.name], others):
            if not (place / name).exists():
                break
        try:
            self.path.rename(place / name)
        except FileNotFoundError:
            return None
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()
        return place / name

    def rank(self, rank: int) -> RankFolder:
        """The folder of a rank, which may not exist yet."""
        return RankFolder(self.path / str(rank), self.run_id, rank)

    def master_port(self) -> int:
        """The run's port: chosen once, whoever asks first. Raises OSError."""
        record = self.path / "run.json"
        if not record.exists():
            write_once(record, json.dumps({"schema": 1, "master_port": _free_port()}))
        return int(json.loads(record.read_text(encoding="utf-8"))["master_port"])

    @property
    def superseded(self) -> bool:
        """Whether a later run of its task has left a folder."""
        number = int(self.path.name)
        return any(int(later.name) > number for later in self.path.parent.glob("[0-9]*"))

    @property
    def killed(self) -> bool:
        """Whether the run was ordered to end."""
        return (self.path / "kill").exists()

    def mark_killed(self) -> None:
        """Let nothing of the run start from now on. Raises OSError."""
        write_once(self.path / "kill", "")

    def remove(self) -> None:
        """Remove all of it. A crash on the way leaves nothing that looks like a run. Raises OSError."""
        grave = self._root / f".gone-{uuid.uuid4().hex}"
        try:
            self.path.rename(grave)
        except FileNotFoundError:
            return
        shutil.rmtree(grave)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()


def sweep(root: Path) -> None:
    """Remove what an interrupted `remove` has left."""
    for grave in root.glob(".gone-*"):
        shutil.rmtree(grave, ignore_errors=True)


class RankFolder:
    """The folder of one rank, shared with its supervisor (`hai_client.rank`)."""

    def __init__(self, path: Path, run_id: RunId, rank: int) -> None:
        self.path = path
        self.run_id = run_id
        self.rank = rank

    @property
    def runtime(self) -> Path:
        """What the job reads and writes (`HAI_RUNTIME_DIR`)."""
        return self.path / "runtime"

    @property
    def prepared(self) -> bool:
        """Whether a supervisor can be started on it."""
        return (self.path / "spec.json").exists()

    def prepare(self, spec: dict[str, Any], token: str) -> None:
        """Write all that the supervisor needs; `spec.json` comes last and once. Raises OSError."""
        for folder in (self.path, self.runtime, self.runtime / "reports", self.path / "log"):
            folder.mkdir(mode=0o700, exist_ok=True)
        write_whole(self.path / "token", token)
        write_once(self.path / "spec.json", json.dumps({"schema": SPEC_SCHEMA, **spec}))

    def spec(self) -> dict[str, Any]:
        """What it was prepared with; empty if that cannot be understood. Raises OSError."""
        try:
            data = json.loads((self.path / "spec.json").read_bytes())
        except ValueError:
            return {}
        return data if isinstance(data, dict) else {}

    def status(self) -> dict[str, Any] | None:
        """What the supervisor has written; None before it has. An unreadable one counts as `running`."""
        try:
            data = json.loads((self.path / "status.json").read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            return {"state": "running"}
        return data if isinstance(data, dict) else {"state": "running"}

    def changed_at(self) -> int:
        """A number that changes when the status does; 0 before there is one."""
        try:
            return (self.path / "status.json").stat().st_mtime_ns
        except OSError:
            return 0

    def supervised(self) -> bool:
        """Whether a supervisor lives. To be asked only once there is a status.

        Looking takes the lock for a moment; a supervisor that starts just then would give up, which is harmless
        only where it must not start any more.
        """
        with self._lock() as taken:
            return not taken

    def end_unstarted(self, exit_code: int | None, start_error: str | None) -> bool:
        """Record the end of a rank that has not started, so that it never will; False if it has. Raises OSError."""
        with self._lock() as taken:
            if not taken or (self.path / "status.json").exists():
                return False
            now = datetime.now(UTC).isoformat()
            status = {
                "schema": _STATUS_SCHEMA,
                "state": "exited",
                "started_at": now,
                "ended_at": now,
                "exit_code": exit_code,
                "start_error": start_error,
            }
            write_whole(self.path / "status.json", json.dumps(status))
            return True

    @contextlib.contextmanager
    def _lock(self) -> Iterator[bool]:
        fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False
        finally:
            os.close(fd)

    def mark_killed(self) -> None:
        """Tell a supervisor that is about to start the command not to. Raises OSError."""
        write_once(self.path / "kill", "")

    def killed_for(self) -> float:
        """Seconds since it was ordered to end; 0 if it was not."""
        try:
            return max(0.0, datetime.now(UTC).timestamp() - (self.path / "kill").stat().st_mtime)
        except OSError:
            return 0.0

    def supervisor(self) -> int | None:
        """The pid that the lock names, if that process is a supervisor of this folder."""
        try:
            pid = int((self.path / "lock").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        return pid if read_arguments(pid)[-1:] == [str(self.path)] else None


def _free_port() -> int:
    choice = random.SystemRandom()
    for _ in range(1000):
        port = choice.randrange(*_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise OSError("no free port was found for MASTER_PORT")
