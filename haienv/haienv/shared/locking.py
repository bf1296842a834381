"""One process at a time builds an environment; another one waits, or says who builds."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Callable

from haienv.shared.errors import Busy


class Replaced(Exception):
    """The file that was locked is no longer the one at its path: what it guards was removed or renamed meanwhile."""


#: Time between two tries, seconds. The lock of a file server does not wake those who wait on other machines.
EVERY_S = 0.2


@contextlib.contextmanager
def building(path: Path, what: str, *, user: str, wait_s: float | None, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of an environment. The kernel frees it when the process dies.

    Args:
        path: The file to lock; its folder exists.
        what: What is done, for those who wait: `install timm`.
        user: Who does it.
        wait_s: Longest wait, seconds; None: for as long as it takes.
        say: Called once, with a sentence, when there is something to wait for.

    Raises:
        Busy: Another process still builds after `wait_s`.
        Replaced: The process that was waited for has removed or renamed the folder of the file.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(fd, path, wait_s, say)
        _check_place(fd, path)
        facts = {"user": user, "host": os.uname().nodename, "pid": os.getpid(), "what": what, "since": _now()}
        # On a full disk nobody is told who builds, and the lock holds all the same.
        with contextlib.suppress(OSError):
            os.ftruncate(fd, 0)
            os.pwrite(fd, (json.dumps(facts) + "\n").encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(fd, 0)
    finally:
        os.close(fd)


def _take(fd: int, path: Path, wait_s: float | None, say: Callable[[str], None]) -> None:
    ends = None if wait_s is None else time.monotonic() + wait_s
    told = False
    while not _locked(fd):
        if ends is not None and time.monotonic() >= ends:
            raise Busy(f"{who(path)}; try again when that has ended, or without --no-wait")
        if not told:
            say(f"{who(path)}; waiting")
            told = True
        time.sleep(EVERY_S)


def _check_place(fd: int, path: Path) -> None:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        raise Replaced from None
    if (there.st_dev, there.st_ino) != (os.fstat(fd).st_dev, os.fstat(fd).st_ino):
        raise Replaced


def _locked(fd: int) -> bool:
    """Lock a file; return whether it was free."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def held(path: Path) -> bool:
    """Return whether a process holds the lock; False if that cannot be found out."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that those who only look do not keep each other from it.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(fd)
    return False


def who(path: Path) -> str:
    """Return a sentence on who holds the lock."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return (
            f"{facts['user']} on {facts['host']} (process {facts['pid']}) does `{facts['what']}` since {facts['since']}"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "another process changes this environment"


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
