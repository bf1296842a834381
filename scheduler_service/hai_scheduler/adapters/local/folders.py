"""The folders of runs: `<runs>/<task id>/<run number>/<rank>/`. They outlive the service."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import logging
import os
import random
import shutil
import socket
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hai_client.linux.processes import read_arguments, read_table
from hai_client.rank.starting import lock
from hai_client.rank.starting.secrets import FILE, folder_of, remove_folder
from hai_client.whole_files import write_once
from hai_scheduler.adapters.local.records import make_folder, read_object, read_word, write_whole
from hai_scheduler.adapters.local.rights import with_rights
from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.run import Blame
from hai_scheduler.ports.errors import Absent

log = logging.getLogger(__name__)

SPEC_SCHEMA = 1
_STATUS_SCHEMA = 1
#: File in the folder of all runs: URLs of services, one a line, the latest first.
ADDRESS_FILE = "address"
#: How many addresses of other services the file keeps.
_MOST_OTHERS = 7
#: The status of a rank that has begun and whose `status.json` cannot be read.
_UNREADABLE: Final = {"state": "running", "unreadable": True}
#: Below the kernel's range of ephemeral ports, so that a port stays free until the job binds it.
_PORTS = (20_000, 32_000)
#: The longest number that every store can keep.
_MOST_DIGITS = 18
#: The greatest exit status of a process.
_MOST_STATUS = 255


def announce(root: Path, url: str, *, alone: bool) -> None:
    """Write the service's address into a file, for ranks that were started while it had another address.

    Args:
        root: The folder of all runs.
        url: The address, at which the service answers already.
        alone: Whether no other service uses the folder. Otherwise the addresses of others are kept after this one.

    Raises:
        OSError: The file cannot be written.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = root / ADDRESS_FILE
    # Replicas may start at the same moment, and must not overwrite each other's line.
    with _turn(root / f".{ADDRESS_FILE}.lock"):
        others: list[str] = []
        if not alone and path.exists():
            others = [line for line in path.read_text(encoding="ascii", errors="replace").split() if line != url]
        write_whole(path, "".join(f"{line}\n" for line in [url, *others[:_MOST_OTHERS]]))


#: Folder in the folder of all runs for orphaned runs that were put aside, with their logs (decision 0016).
ASIDE = ".aside"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFacts:
    """What the folders of a run's ranks say about the run."""

    #: None where no origin is written, or it cannot be read.
    origin: Origin | None = None
    #: Node names in rank order.
    nodes: tuple[str, ...] = ()
    user: str | None = None


class RunFolder:
    """The folder of one run."""

    def __init__(self, root: Path, run_id: RunId) -> None:
        task, dot, number = run_id.partition(".")
        if not (_is_number(task) and dot and _is_number(number)):
            raise Absent(f"there is no run {run_id!r}")
        self._root = root
        self.run_id = run_id
        self.path = root / task / number

    @staticmethod
    def all(root: Path) -> Iterator[RunFolder]:
        """Yield every run that has a folder. Raises OSError if the folder of all runs cannot be read."""
        tasks = with_rights(root, lambda: _numbers(root.iterdir())) if root.exists() else []
        for task in tasks:
            for number in _numbers_in(root / task):
                yield RunFolder(root, RunId(f"{task}.{number}"))

    def make(self) -> None:
        """Create the folder. Raises OSError."""
        for folder in (self._root, self.path.parent, self.path):
            make_folder(folder)

    def ranks(self) -> list[int]:
        """Return ranks that have begun or are fully prepared; also ranks whose folder cannot be read."""
        return sorted(rank for rank in map(int, _numbers_in(self.path)) if self._is_there(self.rank(rank)))

    @staticmethod
    def _is_there(folder: RankFolder) -> bool:
        try:
            return with_rights(folder.path, lambda: folder.begun or folder.prepared)
        except OSError:
            # If it were left out it would count as lost, and the task would be started a second time beside it.
            return True

    def facts(self) -> FolderFacts:
        """Return origin, user and nodes of the run, from the readable `spec.json` of its ranks. Raises OSError."""
        specs = [self.rank(rank).order() or {} for rank in self.ranks()]
        first = next((spec for spec in specs if spec), {})
        user = first.get("user")
        return FolderFacts(
            origin=Origin.parse(str(first.get("origin"))),
            nodes=tuple(str(spec.get("node", "")) for spec in specs),
            user=user if isinstance(user, str) else None,
        )

    def put_aside(self, origin: Origin | None) -> Path | None:
        """Move the folder out of the folder of all runs. Returns the new path, None without a folder. Raises OSError.

        The new path names the database, its epoch and the run. If it exists, a number is added to the new one.
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
        """Return the folder of a rank, which may not exist yet."""
        return RankFolder(self.path / str(rank), self.run_id, rank)

    def master_port(self) -> int:
        """Return the run's MASTER_PORT, chosen at the first call. An unreadable record is replaced. Raises OSError."""
        record = self.path / "run.json"
        if _port_in(record) is None and not write_once(record, self._new_record()):
            self._mend(record)
        port = _port_in(record)
        if port is None:
            raise OSError(f"{record} cannot be read")
        return port

    def _mend(self, record: Path) -> None:
        """Replace a record of the run in which no port can be read."""
        with _locked(os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as taken:
            if taken and _port_in(record) is None:
                write_whole(record, self._new_record())

    def _new_record(self) -> str:
        # If a rank has been given a port before, all ranks get that port.
        told = (self.rank(rank).master_port() for rank in self.ranks())
        port = next((port for port in told if port is not None), None)
        return json.dumps({"schema": 1, "master_port": _free_port() if port is None else port})

    @property
    def superseded(self) -> bool:
        """Whether a later run of its task has a folder."""
        number = int(self.path.name)
        later = map(int, _numbers_in(self.path.parent))
        return any(run > number for run in later)

    @property
    def killed(self) -> bool:
        """Whether the run was ordered to end."""
        return (self.path / "kill").exists()

    def mark_killed(self) -> None:
        """Write the kill mark: no rank of the run starts from now on. Raises OSError."""
        write_once(self.path / "kill", "")

    def remove(self) -> None:
        """Remove the folder. A crash meanwhile leaves nothing that looks like a run. Raises OSError."""
        grave = self._root / f".gone-{uuid.uuid4().hex}"
        try:
            self.path.rename(grave)
        except FileNotFoundError:
            return
        with_rights(grave, lambda: _remove_all(grave))
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()


def _remove_all(folder: Path) -> None:
    """Remove a folder with all that is in it, also while others remove some of it. Raises OSError."""
    while True:
        try:
            shutil.rmtree(folder)
            return
        except FileNotFoundError:
            # A supervisor that ends removes a file of its own, perhaps between the list of files and its turn.
            if not folder.exists():
                return


def sweep(root: Path) -> None:
    """Remove what interrupted calls of `remove` have left."""
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
        """The folder that the job reads and writes (`HAI_RUNTIME_DIR`)."""
        return self.path / "runtime"

    @property
    def runtime_of_job(self) -> str:
        """HAI_RUNTIME_DIR as the job was told; elsewhere if the job runs as another user. Raises OSError."""
        told = (self.order() or {}).get("runtime_dir")
        return told if isinstance(told, str) else str(self.runtime)

    @property
    def begun(self) -> bool:
        """Whether the rank was started, or was recorded as one that never will be."""
        return lock.has_begun(str(self.path))

    @property
    def started(self) -> bool:
        """Whether the rank's command was started or was about to be."""
        return (self.path / lock.BEGUN).exists()

    @property
    def prepared(self) -> bool:
        """Whether a supervisor can be started: the files it needs exist and can be read. Raises OSError."""
        return self.order() is not None and bool(read_word(self.path / "token"))

    def prepare(self, spec: dict[str, Any], token: str, secrets: str | None = None) -> None:
        """Write the files that the supervisor needs, `spec.json` last; a readable one is kept. Raises OSError.

        The supervisor removes the file with `secrets` when its command is about to start.
        """
        for folder in (self.path, self.runtime, self.runtime / "reports", self.path / "log"):
            make_folder(folder)
        write_whole(self.path / "token", token)
        if secrets is not None:
            write_whole(self.path / FILE, secrets)
        order = json.dumps({"schema": SPEC_SCHEMA, **spec})
        record = self.path / "spec.json"
        if not write_once(record, order) and self.order() is None:
            write_whole(record, order)

    def drop_secrets(self) -> None:
        """Remove the secrets of a rank that never starts, or whose supervisor and keeper are dead."""
        with contextlib.suppress(OSError):
            (self.path / FILE).unlink(missing_ok=True)
        remove_folder(folder_of(str(self.path)))

    def order(self) -> dict[str, Any] | None:
        """Return the object in `spec.json`; None if there is none for this rank. Raises OSError."""
        order = read_object(self.path / "spec.json")
        ours = order is not None and (order.get("run_id"), order.get("rank")) == (self.run_id, self.rank)
        return order if ours else None

    def master_port(self) -> int | None:
        """Return the MASTER_PORT that the rank was given; None if it was given none. Raises OSError."""
        env = (self.order() or {}).get("env")
        port = env.get("MASTER_PORT") if isinstance(env, dict) else None
        return int(port) if isinstance(port, str) and _is_number(port) else None

    def status(self) -> dict[str, Any] | None:
        """Return what the supervisor has written to `status.json`; None before it has. Raises OSError.

        A status that was lost or cannot be read counts as `running`, with the field `unreadable`.
        """
        data = read_object(self.path / "status.json")
        if data is None and not self.begun:
            return None
        return data if data is not None and _says_something(data) else dict(_UNREADABLE)

    def changed_at(self) -> int:
        """Return a number that changes when the status changes; 0 before there is a status."""
        try:
            return (self.path / "status.json").stat().st_mtime_ns
        except OSError:
            return 0

    def supervised(self) -> bool:
        """Whether a supervisor lives. It must be called only once there is a status.

        The check takes the lock for a moment; a supervisor that starts just then gives up, which is harmless only where
        it must not start any more.
        """
        with self._lock() as taken:
            if not taken:
                return True
        # The file that a living supervisor has locked may have been removed or replaced.
        return bool(self.find_supervisors())

    def end_unstarted(self, exit_code: int | None, start_error: str | None, *, blame: Blame = Blame.NODE) -> bool:
        """Record the end of a rank that has not started, so that it never will. Returns False if it has started.

        Args:
            exit_code: The exit status to record; None: no status.
            start_error: Why the rank could not be started; None: it was ended on purpose.
            blame: What the node had to do with the start error (H3).

        Raises:
            OSError: The status cannot be written.
        """
        with self._lock() as taken:
            if not taken or self.begun:
                return False
            now = datetime.now(UTC).isoformat()
            status = {
                "schema": _STATUS_SCHEMA,
                "state": "exited",
                "started_at": now,
                "ended_at": now,
                "exit_code": exit_code,
                "start_error": start_error,
                "blame": blame.value,
            }
            write_whole(self.path / "status.json", json.dumps(status))
            self.drop_secrets()
            return True

    def _lock(self) -> contextlib.AbstractContextManager[bool]:
        return _locked(lock.open_lock(str(self.path)))

    def mark_killed(self) -> None:
        """Tell a supervisor that is about to start the command not to. Raises OSError."""
        write_once(self.path / "kill", "")

    def killed_for(self) -> float:
        """Return the seconds since the rank was ordered to end; 0 if it was not."""
        try:
            return max(0.0, datetime.now(UTC).timestamp() - (self.path / "kill").stat().st_mtime)
        except OSError:
            return 0.0

    def supervisor(self) -> int | None:
        """Return the pid in the lock file if that process is a supervisor of this folder; else None."""
        try:
            pid = int((self.path / "lock").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        return pid if self.is_supervised_by(pid) else None

    def is_supervised_by(self, pid: int) -> bool:
        """Whether a process is a supervisor of this folder, or its keeper."""
        return read_arguments(pid)[-2:] == ["hai_client.rank", str(self.path)]

    def find_supervisors(self) -> list[int]:
        """Return the pids of the living supervisor and keeper, from the process table: the lock may not name them."""
        return [pid for pid in read_table() if self.is_supervised_by(pid)]


@contextlib.contextmanager
def _locked(fd: int) -> Iterator[bool]:
    """Lock an open file while the block lasts, then close it. Yields whether the lock was free."""
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


@contextlib.contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Wait for the lock of a file and hold it while the block lasts. Raises OSError."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _numbers(entries: Iterable[Path]) -> list[str]:
    """Return the names that are numbers, without links: the platform makes none, and they may lead anywhere."""
    return sorted(entry.name for entry in entries if _is_number(entry.name) and not entry.is_symlink())


def _numbers_in(folder: Path) -> list[str]:
    """Return names of folders of tasks, runs or ranks; if the folder cannot be read, of those with a supervisor."""
    try:
        return with_rights(folder, lambda: [] if folder.is_symlink() else _numbers(folder.iterdir()))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        log.warning("%s cannot be read: %s", folder, error.strerror or error)
        alive = {path.relative_to(folder).parts[0] for path in _supervised_below(folder)}
        return sorted(filter(_is_number, alive))


def _supervised_below(folder: Path) -> list[Path]:
    """Return the folders of ranks whose supervisors or keepers live, from the process table."""
    last = (read_arguments(pid)[-2:] for pid in read_table())
    paths = (Path(arguments[1]) for arguments in last if len(arguments) == 2 and arguments[0] == "hai_client.rank")
    return [path for path in paths if path != folder and path.is_relative_to(folder)]


def exit_code_of(status: dict[str, Any]) -> int | None:
    """Return the exit status of the command; None if `status.json` has none that a process can end with."""
    code = status.get("exit_code")
    return code if type(code) is int and 0 <= code <= _MOST_STATUS else None


def _says_something(status: dict[str, Any]) -> bool:
    """Whether a supervisor or `end_unstarted` can have written this status."""
    if status.get("state") == "exited":
        return exit_code_of(status) is not None or isinstance(status.get("start_error"), str)
    return status.get("state") == "running"


def _port_in(record: Path) -> int | None:
    port = (read_object(record) or {}).get("master_port")
    return port if isinstance(port, int) and 0 < port < 65536 else None


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
