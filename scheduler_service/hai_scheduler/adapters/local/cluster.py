"""The Cluster port on this machine."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from hai_client.launching.variables import loopbacks
from hai_scheduler.adapters.local.change_watch import ChangeWatch
from hai_scheduler.adapters.local.fabrics import ProcessFabrics
from hai_scheduler.adapters.local.folders import RunFolder
from hai_scheduler.adapters.local.known_runs import KnownRuns, as_temporary
from hai_scheduler.adapters.local.launching import RankLauncher
from hai_scheduler.adapters.local.losses import Losses
from hai_scheduler.adapters.local.marks import Marks
from hai_scheduler.adapters.local.rights import with_rights
from hai_scheduler.adapters.local.runs import LocalRun
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.adapters.local.starting import Starter
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.observation import Observation
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.ports.timings import Timings, Untimed, timed_request

log = logging.getLogger(__name__)


class LocalCluster:
    """The Cluster port where ranks are processes on this machine, each under a supervisor that outlives the service.

    All state is in the folders: a new `LocalCluster` on the same folder finds every run. Files are read and written in
    threads.
    """

    def __init__(self, settings: LocalSettings, timings: Timings | None = None) -> None:
        self._timings = timings or Untimed()
        self._settings = settings
        self._root = settings.runs_dir.resolve()
        self._starter = Starter(settings.python)
        self._runs = KnownRuns(self._root, self._starter, shared=settings.shared)
        self._watch = ChangeWatch(self._runs)
        self._launcher = RankLauncher(settings, self._root)
        self._marks = Marks(self._root)
        self._losses = Losses()
        #: Looks may overlap: each is a thread.
        self._judging = threading.Lock()
        #: True: no other platform uses the folder.
        self.exclusive = True
        #: See `Cluster.fabrics`.
        self.fabrics = ProcessFabrics(local.node for local in settings.nodes)

    async def nodes(self) -> Sequence[Node]:
        """Return every node, in the order of the settings."""
        return [local.node for local in self._settings.nodes]

    async def observe(self) -> Sequence[Observation]:
        """Return what every run shows that is not forgotten. Runs that were seen to have ended are not read again."""
        await self._runs.load()
        with timed_request(self._timings, "observe"), as_temporary("the runs cannot be read"):
            seen = await asyncio.to_thread(self._observe)
        self._runs.note_ended()
        self._watch.follow(self._runs.live())
        return seen

    def _observe(self) -> list[Observation]:
        seen = []
        for run in self._runs.all():
            with run.guard:
                seen.append(run.observe())
        with self._judging:
            return list(self._losses.judge(seen, time.monotonic()))

    def changes(self) -> AsyncIterator[None]:
        """Yield when a supervisor has ended, at once, and when a status has changed, a moment later."""
        return self._watch.changes()

    async def launch(self, launch: LaunchOrder) -> None:
        """Write the folders of all ranks and start their supervisors, those that have not been started yet."""
        await self._runs.load()
        folder = RunFolder(self._root, launch.run_id)
        with as_temporary(f"{self._root} cannot be read"):
            if await asyncio.to_thread(lambda: folder.superseded):
                log.warning("run %s is not started: a later one of its task has been", launch.run_id)
                return
        run = self._runs.take(folder)
        with timed_request(self._timings, "launch"), as_temporary(f"run {launch.run_id} cannot be started"):
            await asyncio.to_thread(with_rights, folder.path, lambda: self._launcher.launch(run, launch))
        self._runs.note_going(run)
        self._watch.follow(list(run.ranks.values()))
        self._watch.wake()

    async def kill(self, run_id: RunId) -> None:
        """Tell the supervisors to end their ranks; a rank that has not started yet never will."""
        await self._runs.load()
        folder = RunFolder(self._root, run_id)
        run = self._runs.take(folder)
        with timed_request(self._timings, "kill"), as_temporary(f"run {run_id} cannot be ended"):
            await asyncio.to_thread(with_rights, folder.path, lambda: self._kill(run))
        self._watch.wake()

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

    async def read_log(self, run_id: RunId, rank: int, *, offset: int, limit: int) -> LogChunk:
        """Return lines of a rank's log from a logical offset. Raises Absent, Temporary."""
        run = await self._runs.find(run_id)
        if run is None or rank not in run.ranks:
            raise Absent(f"there is no rank {rank} of a run {run_id}")
        with timed_request(self._timings, "read_log"), as_temporary(f"the log of run {run_id} cannot be read"):
            return await in_reader(
                lambda: with_rights(run.folder.path, lambda: run.ranks[rank].read_log(offset, limit))
            )

    def log_place(self, run_id: RunId) -> LogPlace | None:
        """See `Cluster.log_place`."""
        return LogPlace(folder=str(RunFolder(self._root, run_id).path), below="log", own=True)

    async def addresses(self, run_id: RunId) -> tuple[str, ...] | None:
        """Return a loopback address for each rank: all ranks are on this machine. Raises Absent."""
        run = await self._runs.find(run_id)
        if run is None or not run.ranks:
            raise Absent(f"there is no run {run_id} here")
        return tuple(loopbacks(len(run.ranks)))

    async def finalize(self, run_id: RunId) -> None:
        """Do nothing: the run's folder shows its end, and stays until the run is forgotten."""

    async def forget(self, run_id: RunId) -> None:
        """Remove the folder of an ended run. Raises Temporary while a process of it is left."""
        await self._runs.load()
        run = self._runs.get(run_id)
        if run is None:
            return
        with as_temporary(f"run {run_id} cannot be forgotten"):
            await asyncio.to_thread(with_rights, run.folder.path, lambda: self._forget(run))
        self._runs.drop(run_id)

    def _forget(self, run: LocalRun) -> None:
        with run.guard:
            run.observe()
            if not run.gone:
                raise Temporary(f"run {run.folder.run_id} cannot be forgotten: it has not ended")
            self._launcher.remove_own(run)
            run.folder.remove()

    async def marks(self) -> Sequence[Mark]:
        """Return the marks in the file beside the runs. Raises Temporary."""
        with as_temporary(f"{self._marks.path} cannot be read"):
            return await asyncio.to_thread(self._marks.all)

    async def put_mark(self, mark: Mark) -> None:
        """Write a mark into the file beside the runs. Raises Superseded, Temporary."""
        with as_temporary(f"{self._marks.path} cannot be written"):
            await asyncio.to_thread(self._marks.put, mark)

    async def put_aside(self, run_id: RunId) -> str | None:
        """Move the run's folder to `.aside/<database>-<epoch>/<task>/<run>`. Returns that path, or None."""
        await self._runs.load()
        run = self._runs.get(run_id)
        if run is None:
            return None
        with as_temporary(f"run {run_id} cannot be put aside"):
            place = await asyncio.to_thread(with_rights, run.folder.path, lambda: self._put_aside(run))
        self._runs.drop(run_id)
        return None if place is None else str(place)

    def _put_aside(self, run: LocalRun) -> Path | None:
        with run.guard:
            seen = run.observe()
            if not run.gone:
                raise Temporary(f"run {run.folder.run_id} cannot be put aside: it has not ended")
            self._launcher.remove_own(run)
            return run.folder.put_aside(seen.origin)

    async def close(self) -> None:
        """Close all handles; supervisors and their ranks go on."""
        self._watch.close()
        self._runs.let_go()
        await asyncio.to_thread(self._starter.close)
