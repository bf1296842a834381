"""The bus of the processes of one machine: datagrams between sockets in a folder that they share."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import secrets
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hai_client.linux.rights import make_folder
from hai_scheduler.adapters.system.relayed_bus import ALL, RelayedBus
from hai_scheduler.ports.bus import Bus

log = logging.getLogger(__name__)

#: Topics that wait for a process which does not read fast enough; with more, all its topics are rung.
MOST_UNSENT: Final = 100
#: Seconds between two tries to ring a process whose socket is full: the first pause, and the longest.
PAUSES: Final = (0.02, 1.0)
#: The longest datagram in bytes. A datagram holds topics, one a line.
_LONGEST: Final = 64 * 1024
_ENDING: Final = ".sock"
_FULL: Final = frozenset({errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.EMSGSIZE})
_DEAD: Final = frozenset({errno.ECONNREFUSED, errno.ENOENT})


class SocketBus(RelayedBus):
    """A bus over Unix datagram sockets; `open_bus` creates it.

    Each process has a socket in the folder and sends to all others there. A ring is never waited for and never fails.
    Rings of one turn of the event loop are sent together. If a socket is full, they are sent later; a socket whose
    process is dead refuses them, and is removed. A ring that is lost all the same costs only latency.

    Args:
        folder: The folder of the sockets. Only the platform's owner may write in it, because a writer can ring.
        here: The bus of this process.
    """

    def __init__(self, folder: Path, here: Bus) -> None:
        super().__init__(here)
        self._folder = folder
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}{_ENDING}"
        self._unsent: dict[str, None] = {}
        #: Topics that other sockets have not taken yet, by name of the socket; and the length of the next pause.
        self._late: dict[str, dict[str, None]] = {}
        self._pause = PAUSES[0]
        #: The scheduled calls that send: at once, and after a pause.
        self._soon: asyncio.Handle | None = None
        self._later: asyncio.Handle | None = None
        self._hearing: asyncio.Task[None] | None = None
        #: Descriptor of the folder. Sockets are addressed through it, because their paths may have some 100 bytes only.
        self._place = -1
        self._ears: socket.socket | None = None
        self._mouth = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)

    def start(self) -> None:
        """Begin to listen, in a task of the running loop. Raises OSError if the folder cannot be used."""
        try:
            self._bind()
        except BaseException:
            self._mouth.close()
            self._let_go()
            raise

    def _bind(self) -> None:
        make_folder(self._folder, 0o700)
        self._folder.chmod(0o700)
        self._place = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._ears.bind(self._path(self._name))
        self._hearing = asyncio.create_task(self._hear(self._ears))

    def _path(self, name: str) -> str:
        return f"/proc/self/fd/{self._place}/{name}"

    async def ring(self, topic: str) -> None:
        """Wake all listeners to the topic, here and in the other processes. Never raises, never waits."""
        await self._here.ring(topic)
        _add(self._unsent, [topic])
        if self._soon is None and self._ears is not None:
            self._soon = asyncio.get_running_loop().call_soon(self._flush)

    async def close(self) -> None:
        """Send the last rings, those that are taken at once, and remove the socket. Never raises."""
        if self._ears is None:
            return
        self._flush()
        for due in (self._soon, self._later):
            if due is not None:
                due.cancel()
        with contextlib.suppress(OSError):
            os.unlink(self._name, dir_fd=self._place)
        await self._stop_hearing()
        self._mouth.close()

    async def _stop_hearing(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
            await asyncio.wait({self._hearing})
        self._let_go()

    def _let_go(self) -> None:
        if self._ears is not None:
            self._ears.close()
            self._ears = None
        if self._place >= 0:
            os.close(self._place)
            self._place = -1

    # -- sending ----------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Send new rings, and rings that were not taken before, to every other process."""
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        topics, self._unsent = self._unsent, {}
        late, self._late = self._late, {}
        try:
            with os.scandir(self._place) as entries:
                others = [one.name for one in entries if one.name.endswith(_ENDING) and one.name != self._name]
        except OSError as error:
            log.warning("the folder %s cannot be read, and other processes hear late: %s", self._folder, error)
            return
        for name in others:
            wanted = late.get(name, {})
            _add(wanted, topics)
            if wanted and not self._send(name, wanted):
                self._late[name] = wanted
        if not self._late:
            self._pause = PAUSES[0]
            return
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(self._pause, self._flush)
        self._pause = min(PAUSES[1], self._pause * 2)

    def _send(self, name: str, topics: Iterable[str]) -> bool:
        """Send rings to a process. Returns False if its socket is full, so that they must be sent again."""
        try:
            self._mouth.sendto("\n".join(topics).encode(), self._path(name))
        except OSError as error:
            if error.errno in _FULL:
                return False
            if error.errno in _DEAD:
                # A bound socket accepts datagrams at once: if it refuses, its process is dead.
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=self._place)
            else:
                log.warning("a process cannot be rung through %s, and hears late: %s", self._folder / name, error)
        return True

    # -- hearing ----------------------------------------------------------------------------------

    async def _hear(self, ears: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                message = await loop.sock_recv(ears, _LONGEST)
            except OSError as error:
                log.warning("rings of other processes cannot be heard for a moment: %s", error)
                await asyncio.sleep(PAUSES[1])
                continue
            for topic in message.decode(errors="replace").split("\n"):
                await self._ring_here(topic)


def _add(wanted: dict[str, None], topics: Iterable[str]) -> None:
    wanted.update(dict.fromkeys(topics))
    if len(wanted) > MOST_UNSENT:
        wanted.clear()
        wanted[ALL] = None


async def open_bus(folder: Path, here: Bus) -> SocketBus:
    """Return a started bus of the processes that share the folder.

    Args:
        folder: Created if it is missing, for its owner alone.
        here: The bus of this process.

    Raises:
        OSError: The folder cannot be used.
    """
    bus = SocketBus(folder, here)
    bus.start()
    return bus
