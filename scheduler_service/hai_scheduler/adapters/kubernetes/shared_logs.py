"""Logs in a folder that the service and the pods share: `<run id>/<rank>/`."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from hai_client.linux.rights import make_folder
from hai_scheduler.adapters.kubernetes.names import parts_of
from hai_scheduler.adapters.shared.log_parts import read_log
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.ports.logs import LogChunk, LogPlace
from hai_scheduler.ports.reading import in_reader


class SharedLogs:
    """A LogSource over the shared log volume."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, run_id: RunId) -> LogPlace:
        """Return the folder of the run's logs."""
        return LogPlace(folder=str(self._of(run_id)))

    async def read(self, run_id: RunId, rank: int, *, offset: int, limit: int, ended: bool) -> LogChunk:
        """Return whole lines from a logical offset. Raises Absent, Temporary."""
        folder = self._of(run_id) / str(rank)
        try:
            return await in_reader(lambda: _read(folder, offset, limit, ended))
        except FileNotFoundError:
            raise Absent(f"there is no log of rank {rank} of run {run_id}") from None
        except OSError as error:
            raise Temporary(f"the log of run {run_id} cannot be read: {error.strerror or error}") from error

    async def forget(self, run_id: RunId) -> None:
        """Remove the logs of a run. Raises Temporary."""
        try:
            await asyncio.to_thread(shutil.rmtree, self._of(run_id))
        except FileNotFoundError:
            return
        except OSError as error:
            raise Temporary(f"the logs of run {run_id} cannot be removed: {error.strerror or error}") from error

    def _of(self, run_id: RunId) -> Path:
        parts_of(run_id)
        return self._folder / run_id


def make_folders(folder: Path, run_id: RunId, ranks: int) -> None:
    """Make the folder of each rank's log, in which any account may write: each pod sees its own alone. Raises OSError.

    Args:
        folder: The folder of all logs.
        run_id: The run.
        ranks: How many ranks it has.
    """
    for rank in range(ranks):
        make_folder(folder / run_id / str(rank), 0o777)


def _read(folder: Path, offset: int, limit: int, ended: bool) -> LogChunk:
    folder.stat()
    return read_log(folder, offset=offset, limit=limit, final=ended)
