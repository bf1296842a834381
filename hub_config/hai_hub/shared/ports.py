"""Check whether a port is free, find the process that uses a port, and choose free ports on loopback."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hai_hub.shared.console import say
from hai_hub.shared.errors import UpError, wrong_input

#: Below the range that systems use for outgoing connections, so that a port stays free between two starts.
_INTERNAL: Final = range(20_000, 32_000)
_LISTENING: Final = "0A"


def is_free(ip: str, port: int) -> bool:
    """Return whether a server could listen on this address and port now.

    Raises:
        OSError: It could not, for another reason than a port in use.
    """
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As servers do: a connection in TIME_WAIT does not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ip, port))
            probe.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True


def require_free(ip: str, port: int) -> None:
    """Check that the platform can listen on this address and port.

    Raises:
        UpError: It cannot; the message says why, names the process that has the port if known, and the remedy.
    """
    try:
        if is_free(ip, port):
            return
    except PermissionError as error:
        raise wrong_input(f"port {port} needs more rights than you have; choose one above 1023 with --port") from error
    except OSError as error:
        message = f"cannot listen on {ip}: {error.strerror or error}; choose an address of this machine with --ip"
        raise wrong_input(message) from error
    owner = holder(port)
    by = f"by {owner}" if owner else "by another program (perhaps another `hai up` or a JupyterHub)"
    raise wrong_input(f"port {port} on {ip} is in use {by}; stop it, or choose another port with --port")


def choose(preferred: int | None, taken: Iterable[int], *, patience_s: float = 5.0) -> int:
    """Return a free port on loopback: the preferred port if it is or becomes free.

    Args:
        preferred: The port of the last start; None: there is none.
        taken: Ports that must not be chosen.
        patience_s: Seconds to wait for the preferred port: the process that had it may still be stopping.

    Raises:
        UpError: No free port was found.
    """
    spoken_for = set(taken)
    deadline = time.monotonic() + patience_s
    while preferred is not None and preferred not in spoken_for:
        if is_free("127.0.0.1", preferred):
            return preferred
        if time.monotonic() > deadline:
            say(f"Port {preferred}, which was used last time, is taken by {holder(preferred) or 'another program'}")
            break
        time.sleep(0.1)
    for port in random.sample(_INTERNAL, 200):
        if port not in spoken_for and is_free("127.0.0.1", port):
            return port
    raise UpError("no free port was found on 127.0.0.1; stop some servers and try again")


def holder(port: int) -> str | None:
    """Return the process that listens on a port, as `name (process 123)`; None if that cannot be seen."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not sockets:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        if _has_open(process / "fd", sockets):
            with contextlib.suppress(OSError):
                name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"{name} (process {process.name})"
    return None


def _has_open(folder: Path, wanted: set[str]) -> bool:
    """Return whether a process has one of these sockets open; False if that cannot be seen."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return False
    for entry in entries:
        # A descriptor may be closed between the two calls.
        with contextlib.suppress(OSError):
            if os.readlink(entry) in wanted:  # noqa: PTH115
                return True
    return False


def _inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            local, state, inode = (line.split()[index] for index in (1, 3, 9))
            if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                found.add(inode)
    return found
