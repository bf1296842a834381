"""The doorbell of the processes of one machine: datagrams between sockets in a folder that they share."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import secrets
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

from hai_scheduler.ports.bus import Bus, Ears

log = logging.getLogger(__name__)

#: Topics that wait for a process which does not listen fast enough; beyond that, it is rung for everything.
MOST_UNSENT: Final = 100
#: Seconds between two tries to ring a process whose socket is full: the first pause, and the longest.
PAUSES: Final = (0.02, 1.0)
#: A datagram holds topics, one a line; more bytes than this are no datagram of ours.
_LONGEST: Final = 64 * 1024
_ENDING: Final = ".sock"
#: Rings every topic.
_ALL: Final = "*"
_FULL: Final = frozenset({errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.EMSGSIZE})
_DEAD: Final = frozenset({errno.ECONNREFUSED, errno.ENOENT})


class SocketBus:
    """Rings over Unix datagram sockets; made by `open_bus`.

    Each process has a socket in the folder and sends to all others there. A ring is never waited for and never fails.
    Rings of one turn of the event loop go out together. What a full socket does not take is sent when it does; a socket
    whose process is dead refuses, and is removed. A ring that is lost all the same costs latency only.

    Args:
        folder: Where the sockets are: for the owner of the platform alone, as whoever may write there may ring.
        here: The doorbell of this process.
    """

    def __init__(self, folder: Path, here: Bus) -> None:
        self._folder = folder
        self._here = here
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}{_ENDING}"
        self._listened: Counter[str] = Counter()
        self._unsent: dict[str, None] = {}
        #: What other sockets have not taken yet, by name, and how long the next pause is.
        self._late: dict[str, dict[str, None]] = {}
        self._pause = PAUSES[0]
        #: The next time that something is sent: at once, and after a pause.
        self._soon: asyncio.Handle | None = None
        self._later: asyncio.Handle | None = None
        self._hearing: asyncio.Task[None] | None = None
        #: Paths of sockets may be some hundred bytes shorter than those of files: they are named by this descriptor.
        self._place = -1
        self._ears: socket.socket | None = None
        self._mouth = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)

    def start(self) -> None:
        """Begin to listen, in a task of the running loop. Raises OSError where the folder cannot be used."""
        try:
            self._bind()
        except BaseException:
            self._mouth.close()
            self._let_go()
            raise

    def _bind(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        self._place = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._ears.bind(self._path(self._name))
        self._hearing = asyncio.create_task(self._hear(self._ears))

    def _path(self, name: str) -> str:
        return f"/proc/self/fd/{self._place}/{name}"

    async def ring(self, topic: str) -> None:
        """Wake everybody who listens to the topic, here and in the other processes. Never raises, never waits."""
        await self._here.ring(topic)
        _add(self._unsent, [topic])
        if self._soon is None and self._ears is not None:
            self._soon = asyncio.get_running_loop().call_soon(self._flush)

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Ears]:
        """Rings from the moment of entering on are kept until waited for."""
        return self._listen(topics)

    @asynccontextmanager
    async def _listen(self, topics: tuple[str, ...]) -> AsyncIterator[Ears]:
        self._listened.update(topics)
        try:
            async with self._here.listen(*topics) as ears:
                yield ears
        finally:
            for topic in topics:
                self._listened[topic] -= 1
                if not self._listened[topic]:
                    del self._listened[topic]

    async def close(self) -> None:
        """Send the last rings, as far as they are taken at once, and remove the socket. Never raises."""
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
        """Send what was rung, and what was not taken before, to every other process."""
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
        """Whether there is nothing left to do about these rings for that process."""
        try:
            self._mouth.sendto("\n".join(topics).encode(), self._path(name))
        except OSError as error:
            if error.errno in _FULL:
                return False
            if error.errno in _DEAD:
                # A socket that is bound takes datagrams from that moment on: who refuses is dead.
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

    async def _ring_here(self, topic: str) -> None:
        for one in list(self._listened) if topic == _ALL else [topic]:
            await self._here.ring(one)


def _add(wanted: dict[str, None], topics: Iterable[str]) -> None:
    wanted.update(dict.fromkeys(topics))
    if len(wanted) > MOST_UNSENT:
        wanted.clear()
        wanted[_ALL] = None


async def open_bus(folder: Path, here: Bus) -> SocketBus:
    """The bus of the processes that share the folder, started.

    Args:
        folder: Made if it is missing, for its owner alone.
        here: The doorbell of this process.

    Raises:
        OSError: The folder cannot be used.
    """
    bus = SocketBus(folder, here)
    bus.start()
    return bus
