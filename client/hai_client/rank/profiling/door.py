"""The socket at which the processes of a rank ask whether they are to record."""
# ruff: noqa: PTH101, PTH103, PTH106, PTH108, PTH118, PTH123, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import _socket
import contextlib
import os
import struct

from hai_client.linux.identity import acting_as
from hai_client.rank.profiling import kineto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hai_client.linux.identity import Account

#: The longest path of a Unix socket, and room for the names of the sockets of processes in the same folder.
PATH_BYTES = 107
NAME_BYTES = 53
#: Messages that are read at one look. Only a program that floods the socket sends more: it is left alone for a while.
AT_ONCE = 64
REST_S = 1.0
#: How often a process asks, seconds. Kineto's own number is 5.
ASKS_EVERY_S = 1
#: The variable with which a task has no socket at all: `0`.
SWITCH = "KINETO_USE_DAEMON"
#: What kineto waits after the import of PyTorch, seconds: its thread must not begin before PyTorch is complete.
INIT_DELAY_S = 3

_CREDENTIALS = struct.Struct("iII")


class RecordingDoor:
    """A Unix datagram socket in a folder of the job.

    Args:
        runtime: The folder that the job reads and writes.
        account: The account of the job; None: that of this process.
    """

    def __init__(self, runtime: str, account: Account | None = None) -> None:
        self._account = account
        self._socket: _socket.socket | None = None
        self._quiet_until = 0.0
        #: Processes that have asked, by their pids as the kernel says them.
        self.asked: set[int] = set()
        self._own = len(os.fsencode(runtime)) + NAME_BYTES + 3 > PATH_BYTES
        self.folder = os.path.join(runtime, "k")
        self._runtime = runtime

    @property
    def spool(self) -> str:
        """The folder into which traces are written."""
        return os.path.join(self._runtime, "traces")

    @property
    def fd(self) -> int:
        """The descriptor to wait for; -1 without a socket."""
        return -1 if self._socket is None else self._socket.fileno()

    def open(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Make the socket, and return the variables with which processes find it; none where it cannot be made.

        Args:
            environment: The variables of the command. What a task sets itself is left as it is.
        """
        if environment.get(SWITCH) is not None:
            return {}
        try:
            with acting_as(self._account):
                self._make()
        except OSError:
            self.close()
            return {}
        config = os.path.join(self.folder, "kineto.conf")
        given = {
            SWITCH: "1",
            "KINETO_IPC_SOCKET_DIR": self.folder,
            "KINETO_ONDEMAND_TRACE_DIR": self.spool,
            "KINETO_DAEMON_INIT_DELAY_S": str(INIT_DELAY_S),
            "KINETO_CONFIG": config,
            # It would write about each recording into the log of the job.
            "KINETO_LOG_LEVEL": "5",
        }
        return {name: value for name, value in given.items() if name not in environment}

    def close(self) -> None:
        """Close the socket, and remove a folder that lies outside of the job's."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        with contextlib.suppress(OSError), acting_as(self._account):
            # In a folder of its own, processes of PyTorch leave their sockets as well.
            for name in os.listdir(self.folder) if self._own else (kineto.SOCKET, "kineto.conf"):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self.folder, name))
            if self._own:
                os.rmdir(self.folder)

    def hear(self, now: float, config: Callable[[int], str]) -> None:
        """Answer the messages that have come.

        Args:
            now: The time of a clock that never steps, seconds.
            config: Returns the configuration for a process; empty: it is not to record.
        """
        for _ in range(AT_ONCE):
            if not self._hear_one(config):
                return
        self._quiet_until = now + REST_S

    def rests(self, now: float) -> bool:
        """Return whether too much has come, so that nothing is read for a while."""
        return now < self._quiet_until

    def _make(self) -> None:
        if self._own:
            import tempfile

            self.folder = tempfile.mkdtemp(prefix="hai-k-")
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        os.makedirs(self.spool, mode=0o700, exist_ok=True)
        with open(os.path.join(self.folder, "kineto.conf"), "w", encoding="ascii") as file:
            file.write(f"ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS={ASKS_EVERY_S}\n")
        self._socket = made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
        made.setblocking(False)
        # The kernel then says with each message which process has sent it.
        made.setsockopt(_socket.SOL_SOCKET, _socket.SO_PASSCRED, 1)
        path = os.path.join(self.folder, kineto.SOCKET)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        made.bind(path)
        os.chmod(path, 0o600)

    def _hear_one(self, config: Callable[[int], str]) -> bool:
        """Answer one message; return whether there was one."""
        if self._socket is None:
            return False
        room = _socket.CMSG_SPACE(_CREDENTIALS.size)
        try:
            data, extra, flags, source = self._socket.recvmsg(kineto.LONGEST, room)
        except OSError:
            return False
        pid = next(
            (
                _CREDENTIALS.unpack_from(value)[0]
                for level, kind, value in extra
                if level == _socket.SOL_SOCKET and kind == _socket.SCM_CREDENTIALS and len(value) >= _CREDENTIALS.size
            ),
            0,
        )
        if pid <= 0 or flags & _socket.MSG_TRUNC or not isinstance(source, str):
            return True
        if not self._is_client(source):
            return True
        try:
            message = kineto.parse(data)
        except kineto.BadMessage:
            return True
        if message.kind == kineto.REGISTER:
            self._send(kineto.registered(len(self.asked)), source)
        else:
            if len(self.asked) < kineto.MOST_PIDS:
                self.asked.add(pid)
            self._send(kineto.answer(config(pid) if message.free else ""), source)
        return True

    def _is_client(self, source: str) -> bool:
        """Return whether an address is that of kineto's socket in the folder."""
        folder, name = os.path.split(source)
        return folder == self.folder and name.startswith(kineto.CLIENTS)

    def _send(self, data: bytes, source: str) -> None:
        # With the rights of the job: the address may be a link that the job has made.
        with contextlib.suppress(OSError), acting_as(self._account):
            if self._socket is not None:
                self._socket.sendto(data, _socket.MSG_DONTWAIT, source)
