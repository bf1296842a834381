"""The Cluster port on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hai_client.rank import pythons
from hai_client.rank.identity import Account, NoAccount
from hai_client.slurm.starting import starting
from hai_client.slurm.variables import loopbacks
from hai_scheduler.adapters.local.accounts import Accounts
from hai_scheduler.adapters.local.client_archive import ClientArchive
from hai_scheduler.adapters.local.environment import rank_environment, shim_folder
from hai_scheduler.adapters.local.folders import ADDRESS_FILE, RankFolder, RunFolder, sweep
from hai_scheduler.adapters.local.losses import Losses
from hai_scheduler.adapters.local.marks import Marks
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.adapters.local.rights import with_rights
from hai_scheduler.adapters.local.runs import NEVER_STARTED, LocalRank, LocalRun, runs_in
from hai_scheduler.adapters.local.starting import Starter
from hai_scheduler.adapters.shared.leaving import leaving_of
from hai_scheduler.adapters.shared.log_parts import read_log
from hai_scheduler.adapters.shared.origins import check_origin
from hai_scheduler.adapters.shared.reading import in_reader
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.core.model.run import Blame
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace

log = logging.getLogger(__name__)

#: How often the files of live runs are looked at, in seconds.
LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """Settings of a local cluster. Sizes are bytes, lengths of time are seconds."""

    #: The folder of all runs; only this process's user may read it.
    runs_dir: Path
    nodes: tuple[LocalNode, ...]
    #: The URL at which supervisors and jobs reach the service, without a slash at its end.
    api_url: str
    #: The interpreter of supervisors; `hai_client` must be importable in it.
    python: str = field(default=sys.executable)
    #: Folders that come first on a task's PATH: the platform's own programs.
    path_prefix: tuple[str, ...] = ()
    #: Between SIGTERM and SIGKILL.
    term_wait_s: float = 10.0
    #: Whether other services use the folder too: then it is read again at every look.
    shared: bool = False
    #: The accounts of users; None: all tasks run as this process's user.
    accounts: Accounts | None = None
    log_max_bytes: int = 64 * 1024 * 1024
    log_parts: int = 8


class LocalCluster:
    """The Cluster port where ranks are processes on this machine, each under a supervisor that outlives the service.

    All state is in the folders: a new `LocalCluster` on the same folder finds every run. Files are read and written in
    threads.
    """

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._nodes = {local.node.name: local for local in settings.nodes}
        self._root = settings.runs_dir.resolve()
        self._starter = Starter(settings.python)
        accounts = settings.accounts
        self._client = ClientArchive(self._root / ".client" if accounts is None else accounts.client)
        self._runs: dict[str, LocalRun] = {}
        #: Runs of which a process may be left, which are looked at often; ended runs are kept for weeks.
        self._going: dict[str, LocalRun] = {}
        self._loading = asyncio.Lock()
        self._loaded = False
        self._listeners: set[asyncio.Event] = set()
        self._marks = Marks(self._root)
        self._losses = Losses()
        #: Looks may overlap: each is a thread.
        self._judging = threading.Lock()
        #: True: no other platform uses the folder.
        self.exclusive = True
        #: Handles that become readable when a supervisor ends, by its pid.
        self._handles: dict[int, int] = {}

    async def nodes(self) -> Sequence[Node]:
        """Return every node, in the order of the settings."""
        return [local.node for local in self._settings.nodes]

    async def observe(self) -> Sequence[Observation]:
        """Return what every run shows that is not forgotten. Runs that were seen to have ended are not read again."""
        await self._load()
        with _as_temporary("the runs cannot be read"):
            seen = await asyncio.to_thread(self._observe)
        self._going = {name: run for name, run in self._runs.items() if not run.gone}
        self._follow(self._live())
        return seen

    def _observe(self) -> list[Observation]:
        seen = []
        for run in list(self._runs.values()):
            with run.guard:
                seen.append(run.observe())
        with self._judging:
            return list(self._losses.judge(seen, time.monotonic()))

    async def _load(self) -> None:
        async with self._loading:
            if self._loaded and not self._settings.shared:
                return
            with _as_temporary(f"{self._root} cannot be read"):
                found = await asyncio.to_thread(self._read_folders)
            new = {name for name, run in self._runs.items() if not (run.ranks or run.never_started)}
            known = {name: run for name, run in self._runs.items() if name in found or name in new}
            for name in self._runs.keys() - known.keys():  # forgotten by another service
                self._runs[name].let_go()
            self._runs = {**found, **known}
            self._going = dict(self._runs)
            self._loaded = True

    def _read_folders(self) -> dict[str, LocalRun]:
        """Return all runs in the folder; known runs are told of ranks that another service has prepared."""
        if not self._loaded:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            sweep(self._root)
        found = runs_in(self._root, self._starter)
        for name, run in found.items():
            known = self._runs.get(name)
            if known is not None:
                # A run that cannot be read now reports that when it is observed.
                with known.guard, contextlib.suppress(OSError):
                    known.catch_up(run.ranks)
        return found

    async def changes(self) -> AsyncIterator[None]:
        """Yield when a supervisor has ended, at once, and when a status has changed, within LOOK_EVERY_S seconds."""
        event = asyncio.Event()
        self._listeners.add(event)
        try:
            await self._load()
            seen = self._fingerprint()
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY_S if seen else None):
                        await event.wait()
                now = self._fingerprint()
                if event.is_set() or now != seen:
                    event.clear()
                    seen = now
                    yield
        finally:
            self._listeners.discard(event)

    def _fingerprint(self) -> dict[str, int]:
        """Return when the status files of live ranks have changed, by folder; empty without live ranks."""
        return {str(rank.folder.path): rank.folder.changed_at() for rank in self._live()}

    def _live(self) -> Iterator[LocalRank]:
        for run in list(self._going.values()):
            yield from (rank for rank in list(run.ranks.values()) if not rank.gone)

    def _wake(self) -> None:
        for event in self._listeners:
            event.set()

    def _follow(self, ranks: Iterable[LocalRank]) -> None:
        """Arrange to be woken when the supervisors of these ranks end."""
        for rank in ranks:
            pid = rank.supervisor
            if pid is not None and pid not in self._handles:
                # Without a handle, the look at the files still finds the end.
                with contextlib.suppress(OSError):
                    self._handles[pid] = os.pidfd_open(pid)
                    asyncio.get_running_loop().add_reader(self._handles[pid], self._on_end, pid, rank)

    def _on_end(self, pid: int, rank: LocalRank) -> None:
        self._drop(pid)
        rank.reap()
        self._wake()

    def _drop(self, pid: int) -> None:
        handle = self._handles.pop(pid)
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)

    async def launch(self, launch: LaunchOrder) -> None:
        """Write the folders of all ranks and start their supervisors, those that have not been started yet."""
        await self._load()
        folder = RunFolder(self._root, launch.run_id)
        with _as_temporary(f"{self._root} cannot be read"):
            if await asyncio.to_thread(lambda: folder.superseded):
                log.warning("run %s is not started: a later one of its task has been", launch.run_id)
                return
        run = self._run(folder)
        with _as_temporary(f"run {launch.run_id} cannot be started"):
            await asyncio.to_thread(with_rights, folder.path, lambda: self._launch(run, launch))
        self._going[str(launch.run_id)] = run
        self._follow(list(run.ranks.values()))
        self._wake()

    def _run(self, folder: RunFolder) -> LocalRun:
        """Return the run of a folder, created if it is not known."""
        return self._runs.setdefault(str(folder.run_id), LocalRun(folder, self._starter))

    def _launch(self, run: LocalRun, launch: LaunchOrder) -> None:
        _check_origin(run.folder, launch)
        with run.guard:
            if run.folder.killed:
                log.warning("run %s is not started: it was ended before", launch.run_id)
                return
            run.folder.make()
            port = run.folder.master_port()
            for number, name in enumerate(launch.nodes):
                self._launch_rank(run, launch, number, name, port)

    def _launch_rank(self, run: LocalRun, launch: LaunchOrder, number: int, name: str, port: int) -> None:
        folder = run.folder.rank(number)
        node = self._nodes.get(name)
        missing = _missing(launch, number, name, node)
        account, nobody = self._account(launch)
        if not folder.begun and not folder.prepared:
            known = node if missing is None else None
            spec = self._spec(launch, folder, known, name, port, account)
            folder.prepare(spec, launch.token.reveal())
        rank = run.rank(number)
        if run.folder.killed:
            folder.mark_killed()
            folder.end_unstarted(NEVER_STARTED, None)
        elif missing is not None:
            folder.end_unstarted(None, missing)
        elif nobody is not None:
            folder.end_unstarted(None, nobody, blame=Blame.NOBODY)
        else:
            rank.ensure_started()

    def _account(self, launch: LaunchOrder) -> tuple[Account | None, str | None]:
        """Return the account of the run's commands, None for this process's user; and why there is none, if so."""
        if self._settings.accounts is None:
            return None, None
        try:
            return self._settings.accounts.of(launch.user), None
        except NoAccount as error:
            return None, str(error)

    def _spec(
        self,
        launch: LaunchOrder,
        folder: RankFolder,
        node: LocalNode | None,
        name: str,
        port: int,
        account: Account | None,
    ) -> dict[str, Any]:
        if node is None:
            # The rank will not start; its spec is written all the same, so that its folder is complete.
            launch, node = replace(launch, gpus=()), LocalNode(node=Node(name=name))
        own = self._own_folder(launch, folder, account)
        env = rank_environment(
            launch,
            rank=folder.rank,
            node=node,
            runtime=own or folder.runtime,
            token=(own or folder.path) / "token",
            port=port,
            path_prefix=self._settings.path_prefix,
            api_url=self._settings.api_url,
            account=account,
        )
        for name_of_folder in ("HAI_CHECKPOINT_DIR", "HAI_LOG_DIR"):
            # With an account, the supervisor creates them when it starts the command.
            if env.get(name_of_folder) and account is None:
                # If one cannot be created, the job's own error names it best.
                with contextlib.suppress(OSError):
                    Path(env[name_of_folder]).mkdir(parents=True, exist_ok=True)
        if (launch.python is not None or pythons.chosen(env)) and (client := self._client.path()) is not None:
            env["PYTHONPATH"] = os.pathsep.join(filter(None, (env.get("PYTHONPATH"), str(client))))
        command = starting(str(shim_folder()), launch.command, env, ranks_per_node=launch.ranks_per_node)
        return {
            "run_id": launch.run_id,
            "task_id": launch.task_id,
            "user": launch.user,
            "account": None if account is None else account.name,
            "runtime_dir": str(own or folder.runtime),
            "origin": None if launch.origin is None else str(launch.origin),
            "rank": folder.rank,
            "node": name,
            "command": command,
            "cwd": launch.cwd,
            "env": env,
            **leaving_of(launch),
            "api_url": self._settings.api_url,
            "address_file": str(self._root / ADDRESS_FILE),
            "term_wait_s": self._settings.term_wait_s,
            "log_max_bytes": self._settings.log_max_bytes,
            "log_parts": self._settings.log_parts,
        }

    def _own_folder(self, launch: LaunchOrder, folder: RankFolder, account: Account | None) -> Path | None:
        """Create and return the folder of the job's account; None without an account. Raises OSError."""
        if account is None or self._settings.accounts is None:
            return None
        place = folder.path.relative_to(self._root)
        return self._settings.accounts.prepare(launch.user, account, place, launch.token.reveal())

    async def kill(self, run_id: RunId) -> None:
        """Tell the supervisors to end their ranks; a rank that has not started yet never will."""
        await self._load()
        folder = RunFolder(self._root, run_id)
        run = self._run(folder)
        with _as_temporary(f"run {run_id} cannot be ended"):
            await asyncio.to_thread(with_rights, folder.path, lambda: self._kill(run))
        self._wake()

    def _kill(self, run: LocalRun) -> None:
        """Write the kill mark, then end the ranks that exist: a rank prepared later by another service finds the mark.

        A supervisor looks for the mark after it has written its status and before it starts the command. So a rank is
        either seen here, or never starts.
        """
        with run.guard:
            run.folder.make()
            run.folder.mark_killed()
            run.catch_up(run.folder.ranks())
            for rank in run.ranks.values():
                rank.kill(self._settings.term_wait_s)

    async def _find(self, run_id: RunId) -> LocalRun | None:
        """Return a run to read its folder; None if there is none. Raises Temporary.

        If other services share the folder, only this run's folder is looked at, not all of them: a log is read twice a
        second, and runs are kept for weeks.
        """
        if not self._settings.shared:
            await self._load()
            return self._runs.get(str(run_id))
        folder = RunFolder(self._root, run_id)
        with _as_temporary(f"the folder of run {run_id} cannot be read"):
            return await in_reader(lambda: with_rights(folder.path, lambda: self._read_run(folder)))

    def _read_run(self, folder: RunFolder) -> LocalRun | None:
        return LocalRun(folder, self._starter) if folder.path.is_dir() else None

    async def read_log(self, run_id: RunId, rank: int, *, offset: int, limit: int) -> LogChunk:
        """Return lines of a rank's log from a logical offset. Raises Absent, Temporary."""
        run = await self._find(run_id)
        if run is None or rank not in run.ranks:
            raise Absent(f"there is no rank {rank} of a run {run_id}")
        with _as_temporary(f"the log of run {run_id} cannot be read"):
            return await in_reader(
                lambda: with_rights(run.folder.path, lambda: self._read_log(run.ranks[rank], offset, limit))
            )

    def _read_log(self, rank: LocalRank, offset: int, limit: int) -> LogChunk:
        # Asked before the log is read: lines written after this are read by the next call.
        final = rank.gone or (rank.folder.status() or {}).get("state") == "exited"
        return read_log(rank.folder.path / "log", offset=offset, limit=limit, final=final)

    def log_place(self, run_id: RunId) -> LogPlace | None:
        """See `Cluster.log_place`."""
        return LogPlace(folder=str(RunFolder(self._root, run_id).path), below="log", own=True)

    async def addresses(self, run_id: RunId) -> tuple[str, ...] | None:
        """Return a loopback address for each rank: all ranks are on this machine. Raises Absent."""
        run = await self._find(run_id)
        if run is None or not run.ranks:
            raise Absent(f"there is no run {run_id} here")
        return tuple(loopbacks(len(run.ranks)))

    async def settle(self, run_id: RunId) -> None:
        """Do nothing: the run's folder shows its end, and stays until the run is forgotten."""

    async def forget(self, run_id: RunId) -> None:
        """Remove the folder of an ended run. Raises Temporary while a process of it is left."""
        await self._load()
        run = self._runs.get(str(run_id))
        if run is None:
            return
        with _as_temporary(f"run {run_id} cannot be forgotten"):
            await asyncio.to_thread(with_rights, run.folder.path, lambda: self._forget(run))
        self._drop_run(run_id)

    def _drop_run(self, run_id: RunId) -> None:
        self._runs.pop(str(run_id), None)
        self._going.pop(str(run_id), None)

    def _forget(self, run: LocalRun) -> None:
        with run.guard:
            run.observe()
            if not run.gone:
                raise Temporary(f"run {run.folder.run_id} cannot be forgotten: it has not ended")
            self._remove_own(run)
            run.folder.remove()

    def _remove_own(self, run: LocalRun) -> None:
        if self._settings.accounts is not None:
            self._settings.accounts.remove(run.folder.path.relative_to(self._root))

    async def marks(self) -> Sequence[Mark]:
        """Return the marks in the file beside the runs. Raises Temporary."""
        with _as_temporary(f"{self._marks.path} cannot be read"):
            return await asyncio.to_thread(self._marks.all)

    async def put_mark(self, mark: Mark) -> None:
        """Write a mark into the file beside the runs. Raises Superseded, Temporary."""
        with _as_temporary(f"{self._marks.path} cannot be written"):
            await asyncio.to_thread(self._marks.put, mark)

    async def put_aside(self, run_id: RunId) -> str | None:
        """Move the run's folder to `.aside/<database>-<epoch>/<task>/<run>`. Returns that path, or None."""
        await self._load()
        run = self._runs.get(str(run_id))
        if run is None:
            return None
        with _as_temporary(f"run {run_id} cannot be put aside"):
            place = await asyncio.to_thread(with_rights, run.folder.path, lambda: self._put_aside(run))
        self._drop_run(run_id)
        return None if place is None else str(place)

    def _put_aside(self, run: LocalRun) -> Path | None:
        with run.guard:
            seen = run.observe()
            if not run.gone:
                raise Temporary(f"run {run.folder.run_id} cannot be put aside: it has not ended")
            self._remove_own(run)
            return run.folder.put_aside(seen.origin)

    async def close(self) -> None:
        """Close all handles; supervisors and their ranks go on."""
        for pid in list(self._handles):
            self._drop(pid)
        for run in self._runs.values():
            run.let_go()
        await asyncio.to_thread(self._starter.close)


def _check_origin(folder: RunFolder, launch: LaunchOrder) -> None:
    """Check that no run of another database has the id. Raises Temporary, OSError."""
    check_origin(launch, folder.facts().origin)


def _missing(launch: LaunchOrder, rank: int, name: str, node: LocalNode | None) -> str | None:
    """Return which node or GPU of the rank this machine does not have, in words; None if it has all of them."""
    if node is None:
        return f"{name} is not a node of this machine; see the list of nodes"
    last = max(launch.gpus[rank], default=-1) if launch.gpus else -1
    if last >= node.node.gpus:
        return f"{name} has {node.node.gpus} GPUs, so there is no GPU {last}; see the list of nodes"
    return None


@contextlib.contextmanager
def _as_temporary(what: str) -> Iterator[None]:
    """Raise Temporary for an OSError of the block: file errors of this machine are worth another try."""
    try:
        yield
    except OSError as error:
        raise Temporary(f"{what}: {error.strerror or error}") from error
