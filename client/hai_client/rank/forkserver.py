"""The fork server: a process that has imported the supervisor's modules, and forks a keeper for each rank.

A rank then costs a fork and not a start of Python. `python -m hai_client.rank.forkserver PADDING`; its standard input
is a Unix socket (SOCK_SEQPACKET) to the service that has started it. A request is the path of a rank's folder. The
answer is the keeper's pid and, beside it, a handle (pidfd) that becomes readable when the keeper ends.

It has one thread and no connection but that socket. It ends when the socket is closed, so with its service; the keepers
go on. A forked keeper equals a started `python -m hai_client.rank FOLDER`: it has a session of its own, the rank's
folder as working folder, its output in `supervisor.log`, no other open file, and the same command line, by which
supervisors are found.
"""
# ruff: noqa: PTH123, PTH208
# Importing pathlib costs milliseconds.

from __future__ import annotations

import array
import ctypes
import encodings.ascii
import gc
import http.client
import json
import os
import select
import socket
import sys
import threading

from hai_client.linux import processes
from hai_client.rank import keeper, supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: The longest path of a folder that the kernel allows, bytes.
LONGEST_PATH = 4096
#: The last word of the command line: room to write the path of a folder over it.
PADDING = "." * LONGEST_PATH
#: The answer to a request that failed.
REFUSED = b"refused"
#: Modules that a supervisor imports, at once or when it begins to listen for notices.
IMPORTED = (supervisor, encodings.ascii, http.client, json, threading)


class Unusable(Exception):
    """The fork server cannot be used: each rank must be started as a Python of its own."""


class CommandLine:
    """The memory from which the kernel reads the command line of this process."""

    def __init__(self) -> None:
        """Raises Unusable."""
        with open("/proc/self/stat", "rb") as file:
            # Fields 48 and 49, counted from 1; the cut removes the first two.
            fields = file.read().rpartition(b") ")[2].split()
        self._start, self._end = int(fields[45]), int(fields[46])
        if not 0 < self._start < self._end:
            raise Unusable("the kernel does not say where the command line is")

    def check_room(self, words: list[str]) -> None:
        """Raise Unusable if these words do not fit."""
        if len(_joined(words)) > self._end - self._start:
            raise Unusable(f"the command line has no room for {words[-1]}")

    def write(self, words: list[str]) -> None:
        """Replace the command line by these words. Raises Unusable if they do not fit."""
        self.check_room(words)
        room = self._end - self._start
        ctypes.memmove(self._start, _joined(words).ljust(room, b"\0"), room)


def _joined(words: list[str]) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _words(folder: str) -> list[str]:
    """Return the command line of a keeper and its supervisor: the same as if Python was started for them."""
    return [sys.executable, "-sP", "-m", "hai_client.rank", folder]


def main() -> int:
    """Serve until the socket is closed. It returns in the server, in every keeper and in every supervisor.

    Returns:
        In the server 0, or 1 where it cannot be used; in the others what `keeper.main` returns.
    """
    # Move the socket off standard input, which the ranks inherit.
    line = socket.socket(fileno=os.dup(0))
    try:
        shown = CommandLine()
        shown.write([sys.executable, "-sP", "-m", "hai_client.rank.forkserver"])
        os.close(processes.open_handle(os.getpid()))
    except (Unusable, OSError, ValueError, IndexError) as error:
        print(f"hai_client.rank.forkserver: {error}; each rank starts a Python of its own", file=sys.stderr)
        return 1
    # The collector must not write to memory pages that are shared with the keepers.
    gc.collect()
    gc.freeze()
    return _serve(line, shown)


def _serve(line: socket.socket, shown: CommandLine) -> int:
    ended = select.poll()
    ended.register(line, select.POLLIN)
    children: dict[int, int] = {}
    while True:
        for fd, _ in ended.poll():
            if fd in children:
                ended.unregister(fd)
                os.waitpid(children.pop(fd), 0)
                os.close(fd)
                continue
            folder, log = _receive(line)
            if not folder:
                return 0
            try:
                shown.check_room(_words(folder))
                pid = os.fork()
            except (Unusable, OSError):
                os.close(log)
                line.send(REFUSED)
                continue
            if pid == 0:
                # The child closes this descriptor and reuses its number: the object must not close that file later.
                line.detach()
                return _become_keeper(folder, log, shown)
            os.close(log)
            handle = processes.open_handle(pid)
            children[handle] = pid
            ended.register(handle, select.POLLIN)
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [handle]))
            try:
                line.sendmsg([str(pid).encode()], [rights])
            except (BrokenPipeError, ConnectionResetError):
                # The service has died. The next service finds the rank by its folder.
                return 0


def _receive(line: socket.socket) -> tuple[str, int]:
    """Return the path of a folder and a file descriptor; an empty path if the socket is closed. Raises OSError."""
    files = array.array("i")
    path, beside, _, _ = line.recvmsg(2 * LONGEST_PATH, socket.CMSG_SPACE(files.itemsize), socket.MSG_CMSG_CLOEXEC)
    for level, kind, data in beside:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: files.itemsize])
    if path and not files:
        raise OSError("a request came without a file for the keeper's output")
    return os.fsdecode(path), files[0] if files else -1


def _become_keeper(folder: str, log: int, shown: CommandLine) -> int:
    """Turn the forked child into the keeper of a rank, as if Python was started for it."""
    os.setsid()
    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDWR)
    for fd, to in ((null, 0), (log, 1), (log, 2)):
        os.dup2(fd, to)
    # Close all files of the server: its socket and the handles of other keepers.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            _close(int(name))
    shown.write(_words(folder))
    return keeper.main([folder])


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        # This descriptor was the one for listing the folder.
        return


def start() -> NoReturn:
    """Serve, and leave the process."""
    code = 1
    try:
        code = main()
    except BaseException:  # noqa: BLE001  # as Python does: in a keeper or a supervisor it goes into the rank's log
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    # os._exit as in `hai_client.rank.__main__`: threads of a supervisor may hang in a long poll.
    os._exit(code)


if __name__ == "__main__":
    start()
