"""Accepting connections when file descriptors run out: for servers on asyncio, tornado's and aiohttp's alike.

Both frameworks try again at once and write a traceback each time, which serves nobody and fills a disk. Here the
server keeps some descriptors for its own files. Beyond that it closes connections over which no request has come
(`waiting`), or whose clients take nothing; where all are being served, it tells clients to come back, and rests between
tries.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import resource
import socket
from typing import Any, Callable

from hai_client.waiting import Seldom, Waiting, waiting

#: The soft limit is raised up to this. Some programs go through all numbers below the limit at their start, and
#: containers may allow a thousand million.
MOST_FILES = 65_536
#: Descriptors that connections never take: an eighth of the limit, but not more than this.
MOST_RESERVED = 256
#: Connections that are looked at in one go, so that others get their turn; those that are taken are no more than one in
#: so many descriptors. A request that has come needs about five turns of the loop until it is known as one, and its
#: connection must not be among the oldest that wait by then.
BURST = 64
BURST_SHARE = 32
#: Rests after a failed try, seconds.
FIRST_REST_S = 0.05
LONGEST_REST_S = 1.0
RETRY_AFTER_S = 2

_NONE_WAITS = (errno.EAGAIN, errno.EWOULDBLOCK)
#: Errors of the one connection that was to be accepted (accept(2)): the next one may be fine.
_OF_ONE = (errno.ECONNABORTED, errno.EINTR, errno.EPERM, errno.EPROTO)

Take = Callable[[socket.socket, Any], object]


def raise_file_limit() -> tuple[int, int]:
    """Let this process open as many files as it may; its children inherit that.

    Returns:
        The limit before and now.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft, soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        # What may not be raised stays; the server works within it.
        return soft, soft
    return soft, wanted


def refusal() -> bytes:
    """The answer to whoever comes when there is no room: a problem document (RFC 9457)."""
    body = json.dumps(
        {
            "type": "about:blank",
            "title": "Service Unavailable",
            "status": 503,
            "detail": "The platform has too many open connections: try again in a moment.",
            "code": "restarting",
        }
    ).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\nRetry-After: {RETRY_AFTER_S}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


class Acceptor:
    """Takes connections from a listening socket. To be made, started and stopped inside a running event loop.

    Args:
        listener: The socket; it must not block.
        take: Gets each connection and the address of its other end.
        log: For the word that there is no room.
        plain: Whether connections are plain HTTP, so that the refusal can be read.
    """

    def __init__(self, listener: socket.socket, take: Take, log: logging.Logger, *, plain: bool = True) -> None:
        self._listener = listener
        self._take = take
        self._log = log
        self._refusal = refusal() if plain else b""
        self._loop = asyncio.get_running_loop()
        self._rest_s = FIRST_REST_S
        self._pause: asyncio.TimerHandle | None = None
        self._seldom = Seldom()
        self._waiting: Waiting = waiting(log)

    def start(self) -> None:
        """Take connections from now on."""
        self._pause = None
        self._loop.add_reader(self._listener.fileno(), self._on_ready)

    def stop(self) -> None:
        """Take no more; the socket stays open."""
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._loop.remove_reader(self._listener.fileno())

    def _on_ready(self) -> None:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        # The kernel gives the lowest free number: one as high as this means that nearly all are in use.
        full = limit - min(MOST_RESERVED, limit // 8)
        refused = 0
        taken, most_taken = 0, BURST if limit == resource.RLIM_INFINITY else max(1, limit // BURST_SHARE)
        for _ in range(BURST):
            try:
                connection, address = self._listener.accept()
            except OSError as error:
                if error.errno in _OF_ONE:
                    continue
                if error.errno not in _NONE_WAITS and not self._waiting.make_room():
                    self._rest(error.strerror or str(error), limit)
                    return
                break
            connection.setblocking(False)
            short = limit != resource.RLIM_INFINITY and connection.fileno() >= full
            made_room = short and self._waiting.make_room()
            if short and not made_room:
                self._turn_away(connection)
                refused += 1
                continue
            self._rest_s = FIRST_REST_S
            self._take(connection, address)
            taken += 1
            if made_room or taken >= most_taken:
                # What was closed is free in the loop's next turn, which comes at once: the listener is still ready.
                break
        if refused and not taken:
            self._rest("nearly all files that this process may open are open", limit)

    def _turn_away(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(connection):
            # What it has sent is taken off first: closing over unread bytes would make its system drop the answer.
            with contextlib.suppress(BlockingIOError):
                connection.recv(64 * 1024)
            connection.send(self._refusal)
            connection.shutdown(socket.SHUT_WR)

    def _rest(self, why: str, limit: int) -> None:
        """Leave those who wait where they are for a moment."""
        held_back = self._seldom.due()
        if held_back is not None:
            self._log.error(
                "no room for more connections (%s; the limit is %d): some clients are told to come back. "
                "Raise the limit of open files (ulimit -n, LimitNOFILE).%s",
                why,
                limit,
                f" Said {held_back} times less often than it happened." if held_back else "",
            )
        self._loop.remove_reader(self._listener.fileno())
        self._pause = self._loop.call_later(self._rest_s, self.start)
        self._rest_s = min(LONGEST_REST_S, self._rest_s * 2)


def accept_handler(log: logging.Logger) -> Callable[[socket.socket, Take], Callable[[], None]]:
    """What may stand in for tornado's `add_accept_handler`.

    Args:
        log: For the word that there is no room.

    Returns:
        A function that takes connections from a socket for a callback, and returns the one that ends it.
    """

    def add(listener: socket.socket, take: Take) -> Callable[[], None]:
        acceptor = Acceptor(listener, take, log)
        acceptor.start()
        return acceptor.stop

    return add
