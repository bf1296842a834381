"""Starts the supervisors of ranks: forked by the fork server, or, without one, each as a new Python."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Final, Protocol

from hai_client.rank.forkserver import PADDING

log = logging.getLogger(__name__)

#: How long the fork server may take to answer, in seconds; before its first answer it imports its modules.
_ANSWER_S: Final = 5.0
#: After a fork server has failed, how long until one is started again, in seconds.
_PAUSE_S: Final = 30.0
#: How long the end of the fork server is waited for, in seconds.
_END_S: Final = 2.0


class StartedKeeper(Protocol):
    """A keeper that was started for this process: the process around a supervisor."""

    @property
    def pid(self) -> int:
        """The keeper's pid."""
        ...

    @property
    def succeeded(self) -> bool:
        """Whether the keeper has ended with status 0: there was nothing to start."""
        ...

    def ended(self) -> bool:
        """Whether the keeper has ended, as far as that can be known without waiting."""
        ...

    def let_go(self) -> None:
        """Stop watching the keeper, which goes on."""
        ...


class KeeperChild:
    """A keeper that is a child of this process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    @property
    def succeeded(self) -> bool:
        """See `StartedKeeper`."""
        return self._process.returncode == 0

    def ended(self) -> bool:
        """See `StartedKeeper`."""
        return self._process.poll() is not None

    def let_go(self) -> None:
        """See `StartedKeeper`."""
        if self._process.poll() is None:
            # Otherwise Popen's destructor would warn that the child is still running.
            self._process.returncode = 0


class Forked:
    """A keeper that the fork server has started; its handle becomes readable when the keeper has ended."""

    #: False: only the fork server gets the keeper's status. If another process supervises the rank, the lock names it.
    succeeded = False

    def __init__(self, pid: int, handle: int) -> None:
        self.pid = pid
        self._handle: int | None = handle
        #: The event loop and its threads call this object.
        self._turn = threading.Lock()
        self._look = select.poll()
        self._look.register(handle, select.POLLIN)

    def ended(self) -> bool:
        """See `StartedKeeper`."""
        with self._turn:
            if self._handle is not None and self._look.poll(0):
                self._close()
            return self._handle is None

    def let_go(self) -> None:
        """See `StartedKeeper`."""
        with self._turn:
            self._close()

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        self._close()


class ForkServer:
    """Starts and calls `hai_client.rank.forkserver`, again when that has died. Its methods may be called by any thread.

    The fork server ends with this process; the keepers it has forked go on. A new service starts a new fork server with
    its own code.
    """

    def __init__(self, python: str) -> None:
        self._python = python
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        #: No fork server is started before this time (`time.monotonic`).
        self._not_before = 0.0

    @property
    def pid(self) -> int | None:
        """The fork server's pid; None while there is none."""
        return None if self._process is None else self._process.pid

    def start(self, folder: Path, output: int) -> Forked | None:
        """Have a keeper forked for the rank of a folder. Returns None if no fork server can be used now.

        Args:
            folder: The rank's folder.
            output: File descriptor for what the keeper and the supervisor print.
        """
        with self._turn:
            # A dead fork server is noticed when it does not answer. If it had forked a keeper already, that one holds
            # the rank's lock, and a second keeper ends.
            for _ in range(2):
                if self._line is None and not self._open():
                    return None
                try:
                    return self._ask(os.fsencode(folder), output)
                except OSError as error:
                    log.warning("the fork server of ranks does not answer and is started again: %s", error)
                    self._end()
            self._not_before = time.monotonic() + _PAUSE_S
            return None

    def _open(self) -> bool:
        if time.monotonic() < self._not_before:
            return False
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [self._python, "-sP", "-m", "hai_client.rank.forkserver", PADDING],
                    cwd="/",
                    env=supervisor_environment(),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                # The supervisor that is then started directly fails in the same way, and the user is told why.
                log.warning("the fork server of ranks cannot be started: %s", error)
                ours.close()
                self._not_before = time.monotonic() + _PAUSE_S
                return False
        ours.settimeout(_ANSWER_S)
        self._line = ours
        return True

    def _ask(self, folder: bytes, output: int) -> Forked | None:
        """Ask the fork server for a keeper; None if it could not fork one. Raises OSError if it does not answer."""
        assert self._line is not None
        socket.send_fds(self._line, [folder], [output])
        answer, handles, _, _ = socket.recv_fds(self._line, 64, 1, socket.MSG_CMSG_CLOEXEC)
        if not answer:
            raise ConnectionResetError("it has ended")
        return Forked(int(answer), handles[0]) if handles else None

    def _end(self) -> None:
        """End the fork server; the keepers go on."""
        line, self._line = self._line, None
        process, self._process = self._process, None
        if line is not None:
            line.close()
        if process is None:
            return
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End the fork server, until one is needed again."""
        with self._turn:
            self._end()


class Starter:
    """Starts supervisors."""

    def __init__(self, python: str) -> None:
        """Create a starter that uses the interpreter `python`, in which `hai_client` must be importable."""
        self.python = python
        self._server = ForkServer(python)

    @property
    def server(self) -> int | None:
        """The pid of the fork server; None while there is none."""
        return self._server.pid

    def start(self, folder: Path) -> StartedKeeper:
        """Start the supervisor of the rank in a folder. Raises OSError."""
        with (folder / "supervisor.log").open("ab") as output:
            return self._server.start(folder, output.fileno()) or KeeperChild(self._spawn(folder, output.fileno()))

    def _spawn(self, folder: Path, output: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.python, "-sP", "-m", "hai_client.rank", str(folder)],
            cwd=folder,
            env=supervisor_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def close(self) -> None:
        """End the fork server; the supervisors that were started go on."""
        with contextlib.suppress(OSError):
            self._server.close()


def supervisor_environment() -> dict[str, str]:
    """Return the few variables that supervisors need: users who can read their environment must see no secret in it."""
    # Some containers and machines have the GPUs' driver where LD_LIBRARY_PATH alone says.
    kept = ("PATH", "LANG", "LC_ALL", "HOME", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ}
