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
from hai_scheduler.ports.cluster import Launch
from hai_scheduler.ports.errors import NotFound, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace

log = logging.getLogger(__name__)

#: While runs are live, their files are looked at so often, seconds.
LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """What a local cluster must know. Sizes are bytes, lengths of time are seconds."""

    #: Where the runs live; readable by this user only.
    runs_dir: Path
    nodes: tuple[LocalNode, ...]
    #: What supervisors and jobs reach the service at, without a slash at its end.
    api_url: str
    #: What supervisors are started with; `hai_client` must be importable there.
    python: str = field(default=sys.executable)
    #: Folders that come first on a task's PATH: the platform's own programs.
    path_prefix: tuple[str, ...] = ()
    #: Between SIGTERM and SIGKILL.
    term_wait_s: float = 10.0
    #: Whether other services use the folder too: then it is read anew at every look.
    shared: bool = False
    #: Who runs as whom; None: all as this process's user.
    accounts: Accounts | None = None
    log_max_bytes: int = 64 * 1024 * 1024
    log_parts: int = 8


class LocalCluster:
    """Ranks are processes on this machine, each under a supervisor that outlives the service.

    All truth is in the folders: a new cluster on the same folder finds every run. File work is done in threads.
    """

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._nodes = {local.node.name: local for local in settings.nodes}
        self._root = settings.runs_dir.resolve()
        self._starter = Starter(settings.python)
        accounts = settings.accounts
        self._client = ClientArchive(self._root / ".client" if accounts is None else accounts.client)
        self._runs: dict[str, LocalRun] = {}
        #: Those of which something may be left: ended ones are kept for weeks, and these are looked at all the time.
        self._going: dict[str, LocalRun] = {}
        self._loading = asyncio.Lock()
        self._loaded = False
        self._listeners: set[asyncio.Event] = set()
        self._marks = Marks(self._root)
        self._losses = Losses()
        #: Looks may overlap: each is a thread.
        self._judging = threading.Lock()
        #: Nobody else uses the folder.
        self.exclusive = True
        #: Handles that become readable when a supervisor ends, by its pid.
        self._handles: dict[int, int] = {}

    async def nodes(self) -> Sequence[Node]:
        """Every node, in the order of the settings."""
        return [local.node for local in self._settings.nodes]

    async def observe(self) -> Sequence[Observation]:
        """Every run that has not been forgotten. Runs that were seen to have ended are not read again."""
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
        """All runs that there are; those that are known learn of ranks that another service has prepared."""
        if not self._loaded:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            sweep(self._root)
        found = runs_in(self._root, self._starter)
        for name, run in found.items():
            known = self._runs.get(name)
            if known is not None:
                # What cannot be read now says so when it is observed.
                with known.guard, contextlib.suppress(OSError):
                    known.catch_up(run.ranks)
        return found

    async def changes(self) -> AsyncIterator[None]:
        """Wake-ups: when a supervisor ends, at once; when a status changes, within a tenth of a second."""
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
        """The state of the files of live ranks; empty when there is none."""
        return {str(rank.folder.path): rank.folder.changed_at() for rank in self._live()}

    def _live(self) -> Iterator[LocalRank]:
        for run in list(self._going.values()):
            yield from (rank for rank in list(run.ranks.values()) if not rank.gone)

    def _wake(self) -> None:
        for event in self._listeners:
            event.set()

    def _follow(self, ranks: Iterable[LocalRank]) -> None:
        """Be woken when the supervisors of these ranks end."""
        for rank in ranks:
            pid = rank.supervisor
            if pid is not None and pid not in self._handles:
                # Without a handle the files are looked at all the same.
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

    async def launch(self, launch: Launch) -> None:
        """Write the folders of all ranks and start their supervisors, as far as that has not been done."""
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
        """The run of that folder, new if need be."""
        return self._runs.setdefault(str(folder.run_id), LocalRun(folder, self._starter))

    def _launch(self, run: LocalRun, launch: Launch) -> None:
        _check_origin(run.folder, launch)
        with run.guard:
            if run.folder.killed:
                log.warning("run %s is not started: it was ended before", launch.run_id)
                return
            run.folder.make()
            port = run.folder.master_port()
            for number, name in enumerate(launch.nodes):
                self._launch_rank(run, launch, number, name, port)

    def _launch_rank(self, run: LocalRun, launch: Launch, number: int, name: str, port: int) -> None:
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

    def _account(self, launch: Launch) -> tuple[Account | None, str | None]:
        """What the run's commands run as, None for this process's user; and why they cannot, if they cannot."""
        if self._settings.accounts is None:
            return None, None
        try:
            return self._settings.accounts.of(launch.user), None
        except NoAccount as error:
            return None, str(error)

    def _spec(
        self, launch: Launch, folder: RankFolder, node: LocalNode | None, name: str, port: int, account: Account | None
    ) -> dict[str, Any]:
        if node is None:
            # It will not start; what it would have seen is written down all the same.
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
            # An account makes them itself, when its command is started.
            if env.get(name_of_folder) and account is None:
                # Where one cannot be made, the job's own error names it best.
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

    def _own_folder(self, launch: Launch, folder: RankFolder, account: Account | None) -> Path | None:
        """The folder of the job where that is another user than this process's. Raises OSError."""
        if account is None or self._settings.accounts is None:
            return None
        place = folder.path.relative_to(self._root)
        return self._settings.accounts.prepare(launch.user, account, place, launch.token.reveal())

    async def kill(self, run_id: RunId) -> None:
        """Tell the supervisors to end their ranks; ranks that have not started never will."""
        await self._load()
        folder = RunFolder(self._root, run_id)
        run = self._run(folder)
        with _as_temporary(f"run {run_id} cannot be ended"):
            await asyncio.to_thread(with_rights, folder.path, lambda: self._kill(run))
        self._wake()

    def _kill(self, run: LocalRun) -> None:
        """First the mark, then a look at what is there: what another service prepares later, it finds the mark after.

        A supervisor looks for the mark once its status is written and before it starts the command. So a rank is
        either seen here, or never starts.
        """
        with run.guard:
            run.folder.make()
            run.folder.mark_killed()
            run.catch_up(run.folder.ranks())
            for rank in run.ranks.values():
                rank.kill(self._settings.term_wait_s)

    async def _find(self, run_id: RunId) -> LocalRun | None:
        """The run, to read what is in its folder; None if there is none. Raises Temporary.

        Where another process makes and removes folders this one is looked at, and not all that there are: a log is read
        twice a second, and runs are kept for weeks.
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
        """Lines of a rank from a logical offset."""
        run = await self._find(run_id)
        if run is None or rank not in run.ranks:
            raise NotFound(f"there is no rank {rank} of a run {run_id}")
        with _as_temporary(f"the log of run {run_id} cannot be read"):
            return await in_reader(
                lambda: with_rights(run.folder.path, lambda: self._read_log(run.ranks[rank], offset, limit))
            )

    def _read_log(self, rank: LocalRank, offset: int, limit: int) -> LogChunk:
        # Asked first: whatever is written afterwards is seen by the next call.
        final = rank.gone or (rank.folder.status() or {}).get("state") == "exited"
        return read_log(rank.folder.path / "log", offset=offset, limit=limit, final=final)

    def log_place(self, run_id: RunId) -> LogPlace | None:
        """See `Cluster.log_place`."""
        return LogPlace(folder=str(RunFolder(self._root, run_id).path), below="log", own=True)

    async def addresses(self, run_id: RunId) -> tuple[str, ...] | None:
        """All ranks are on this machine. Raises NotFound."""
        run = await self._find(run_id)
        if run is None or not run.ranks:
            raise NotFound(f"there is no run {run_id} here")
        return tuple(loopbacks(len(run.ranks)))

    async def settle(self, run_id: RunId) -> None:
        """What shows the end of a run is its folder, and that stays until the run is forgotten."""

    async def forget(self, run_id: RunId) -> None:
        """Remove the folder of an ended run. Raises Temporary while anything of it is left."""
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
        """The marks in the file beside the runs."""
        with _as_temporary(f"{self._marks.path} cannot be read"):
            return await asyncio.to_thread(self._marks.all)

    async def put_mark(self, mark: Mark) -> None:
        """Write the file anew."""
        with _as_temporary(f"{self._marks.path} cannot be written"):
            await asyncio.to_thread(self._marks.put, mark)

    async def put_aside(self, run_id: RunId) -> str | None:
        """Move the run's folder to `.aside/<database>-<epoch>/<task>/<run>`."""
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
        """Let go of handles; supervisors and their ranks go on."""
        for pid in list(self._handles):
            self._drop(pid)
        for run in self._runs.values():
            run.let_go()
        await asyncio.to_thread(self._starter.close)


def _check_origin(folder: RunFolder, launch: Launch) -> None:
    """See that nobody else's run has the id. Raises Temporary, OSError."""
    check_origin(launch, folder.facts().origin)


def _missing(launch: Launch, rank: int, name: str, node: LocalNode | None) -> str | None:
    """What this machine does not have of what the rank was given, in words; None if all of it is there."""
    if node is None:
        return f"{name} is not a node of this machine; see the list of nodes"
    last = max(launch.gpus[rank], default=-1) if launch.gpus else -1
    if last >= node.node.gpus:
        return f"{name} has {node.node.gpus} GPUs, so there is no GPU {last}; see the list of nodes"
    return None


@contextlib.contextmanager
def _as_temporary(what: str) -> Iterator[None]:
    """File trouble of this machine is worth another try."""
    try:
        yield
    except OSError as error:
        raise Temporary(f"{what}: {error.strerror or error}") from error
