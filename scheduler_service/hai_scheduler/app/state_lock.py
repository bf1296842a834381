"""The lock of a state folder: only one scheduling loop uses the folder, and the loop before it is surely dead.

The API has a lock of its own, without a name in it: it keeps `hai restore` from replacing the database under the API.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

log = logging.getLogger(__name__)

#: The file's name in the state folder. It holds the name under which its owner asks for the leader lease.
FILE: Final = "service.lock"
#: The name of the file that a process of the API locks.
API_FILE: Final = "api.lock"
_LONGEST_NAME: Final = 1000
#: Seconds between two attempts. The kernel frees a process's lock as soon as the process has ended.
_AGAIN_S: Final = 0.05


class StateLock:
    """The lock on a state folder, held until `free` is called or the process ends, in whatever way.

    The kernel frees the lock when the last thread of the owner has ended. So the next owner knows that the previous
    one can write nothing more, and need not wait until the lease of that process has expired.

    Attributes:
        predecessor: The name that the previous owner left in the file; None where there is none.
    """

    def __init__(self, descriptor: int, predecessor: str | None = None) -> None:
        self._descriptor = descriptor
        self.predecessor = predecessor

    @classmethod
    def try_take(cls, folder: Path, name: str) -> Self | None:
        """Take the lock and write this name into it; None while another process has the lock.

        Raises:
            OSError: The folder cannot be written, or its file system has no locks.
        """
        descriptor = _locked(folder / FILE, fcntl.LOCK_EX)
        if descriptor is None:
            return None
        try:
            before = os.pread(descriptor, _LONGEST_NAME, 0).decode(errors="replace")
            # A name without its end of line was cut off when its owner died: it is not used.
            predecessor = before.removesuffix("\n") if before.endswith("\n") else None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{name}\n".encode(), 0)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, predecessor)

    @classmethod
    def try_take_for_api(cls, folder: Path, *, alone: bool) -> Self | None:
        """Take the lock of the API; None while another process has it and does not share it.

        Args:
            folder: The state folder.
            alone: Whether there is one process of the API only; several share the lock.

        Raises:
            OSError: As for `try_take`.
        """
        descriptor = _locked(folder / API_FILE, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        return None if descriptor is None else cls(descriptor)

    def free(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


def _locked(path: Path, how: int) -> int | None:
    """Return the descriptor of a file with a lock on it; None while another process has the lock. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


async def take(folder: Path, name: str, *, alone: bool, stop: asyncio.Event) -> StateLock | None:
    """Take the folder's lock for the scheduling loop, after its owner has ended.

    Args:
        folder: The state folder.
        name: The name under which this loop asks for the leader lease; no other process has the same name.
        alone: Whether the loop is the only one of its folder: then it waits for the lock. Replicas that share a
            folder do not wait; their lease says which one leads.
        stop: Ends the wait when it is set.

    Returns:
        The lock; None where another replica has it, where the file system has no locks, or after `stop`.
    """
    return await _take(lambda: StateLock.try_take(folder, name), folder / FILE, alone=alone, stop=stop)


async def take_for_api(folder: Path, *, alone: bool, stop: asyncio.Event) -> StateLock | None:
    """Take the folder's lock for the API; the arguments and the result are as for `take`."""
    locked = await _take(
        lambda: StateLock.try_take_for_api(folder, alone=alone), folder / API_FILE, alone=alone, stop=stop
    )
    if locked is None and not stop.is_set():
        log.warning("%s is not locked: nothing keeps `hai restore` from replacing the database", folder / API_FILE)
    return locked


async def _take(
    attempt: Callable[[], StateLock | None], file: Path, *, alone: bool, stop: asyncio.Event
) -> StateLock | None:
    waiting = False
    while not stop.is_set():
        try:
            lock = attempt()
        except OSError as error:
            log.warning("%s cannot be locked (%s): a dead leader's lease has to run out", file, error.strerror)
            return None
        if lock is not None or not alone:
            return lock
        if not waiting:
            waiting = True
            log.warning(
                "another scheduler service uses %s: this one begins when it has ended. Two of one role need"
                " HaiScheduler.redis_url, or a folder each.",
                file.parent,
            )
        await asyncio.sleep(_AGAIN_S)
    return None
