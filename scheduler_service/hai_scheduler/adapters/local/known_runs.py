"""The runs in the folder, as this process knows them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

from hai_scheduler.adapters.local.folders import RunFolder, sweep
from hai_scheduler.adapters.local.rights import with_rights
from hai_scheduler.adapters.local.runs import LocalRank, LocalRun, runs_in
from hai_scheduler.adapters.local.starting import Starter
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.reading import in_reader


@contextlib.contextmanager
def as_temporary(what: str) -> Iterator[None]:
    """Raise Temporary for an OSError of the block: file errors of this machine are worth another try."""
    try:
        yield
    except OSError as error:
        raise Temporary(f"{what}: {error.strerror or error}") from error


class KnownRuns:
    """The runs of one folder. A run is known from its launch, or from when its folder was read, until it is dropped.

    Args:
        root: The folder of all runs.
        starter: Starts the supervisors of ranks.
        shared: Whether other services use the folder too: then it is read again at every look.
    """

    def __init__(self, root: Path, starter: Starter, *, shared: bool) -> None:
        self._root = root
        self._starter = starter
        self._shared = shared
        self._runs: dict[str, LocalRun] = {}
        #: Runs of which a process may be left, which are looked at often; ended runs are kept for weeks.
        self._going: dict[str, LocalRun] = {}
        self._loading = asyncio.Lock()
        self._loaded = False

    async def load(self) -> None:
        """Read which runs there are, the first time and where others use the folder too. Raises Temporary."""
        async with self._loading:
            if self._loaded and not self._shared:
                return
            with as_temporary(f"{self._root} cannot be read"):
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

    def all(self) -> list[LocalRun]:
        """Return every known run."""
        return list(self._runs.values())

    def live(self) -> Iterator[LocalRank]:
        """Yield the ranks of which a process may be left."""
        for run in list(self._going.values()):
            yield from (rank for rank in list(run.ranks.values()) if not rank.gone)

    def get(self, run_id: RunId) -> LocalRun | None:
        """Return a known run; None if it is not known."""
        return self._runs.get(str(run_id))

    def take(self, folder: RunFolder) -> LocalRun:
        """Return the run of a folder, which is known from now on."""
        return self._runs.setdefault(str(folder.run_id), LocalRun(folder, self._starter))

    def note_going(self, run: LocalRun) -> None:
        """Note that processes of a run may have been started."""
        self._going[str(run.folder.run_id)] = run

    def note_ended(self) -> None:
        """Look less at runs that were observed to have no process left."""
        self._going = {name: run for name, run in self._runs.items() if not run.gone}

    def drop(self, run_id: RunId) -> None:
        """Forget a run whose folder is gone."""
        self._runs.pop(str(run_id), None)
        self._going.pop(str(run_id), None)

    async def find(self, run_id: RunId) -> LocalRun | None:
        """Return a run to read its folder; None if there is none. Raises Temporary.

        If other services share the folder, only this run's folder is looked at, not all of them: a log is read twice a
        second, and runs are kept for weeks.
        """
        if not self._shared:
            await self.load()
            return self.get(run_id)
        folder = RunFolder(self._root, run_id)
        with as_temporary(f"the folder of run {run_id} cannot be read"):
            return await in_reader(lambda: with_rights(folder.path, lambda: self._read_run(folder)))

    def _read_run(self, folder: RunFolder) -> LocalRun | None:
        return LocalRun(folder, self._starter) if folder.path.is_dir() else None

    def let_go(self) -> None:
        """Close what is open of all runs; their supervisors go on."""
        for run in self._runs.values():
            run.let_go()
