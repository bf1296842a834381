"""Accepting connections when file descriptors run out: for servers on asyncio, tornado's and aiohttp's alike.

Both frameworks try again at once and write a traceback each time, which only fills the disk. Here the server keeps
some descriptors for its own files. Beyond that it closes connections over which no request has come (`waiting`), or
whose clients do not read. Where all connections are being served, it answers new clients with 503 and a time to come
back, and pauses between tries.
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

#: The soft limit is raised up to this. Some programs try to close every number below the limit when they start, and
#: containers may allow a thousand million.
MOST_FILES = 65_536
#: Descriptors that connections never take: an eighth of the limit, but not more than this.
MOST_RESERVED = 256
#: `BURST` is the most connections that are accepted in one iteration of the event loop, so that other work gets its
#: turn. At most one in `BURST_SHARE` descriptors is taken: a request needs about five iterations until it is known as
#: one, and its connection must not be among the oldest waiting ones by then.
BURST = 64
BURST_SHARE = 32
#: Pauses after a failed try, seconds.
FIRST_REST_S = 0.05
LONGEST_REST_S = 1.0
RETRY_AFTER_S = 2

_NONE_WAITS = (errno.EAGAIN, errno.EWOULDBLOCK)
#: Errors of a single connection (accept(2)): the next connection may be fine.
_OF_ONE = (errno.ECONNABORTED, errno.EINTR, errno.EPERM, errno.EPROTO)

Take = Callable[[socket.socket, Any], object]


def raise_file_limit() -> tuple[int, int]:
    """Raise this process's soft limit of open files as far as it is allowed; its children inherit the limit.

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
        # The server works within the limit as it is.
        return soft, soft
    return soft, wanted


def refusal() -> bytes:
    """Return the HTTP answer to a client when there is no room: status 503 with a problem document (RFC 9457)."""
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
    """Accepts connections from a listening socket. Make, start and stop it inside a running event loop.

    Args:
        listener: The socket; it must not block.
        take: Called with each connection and the address of its client.
        log: Logger for the error that there is no room.
        plain: Whether connections are plain HTTP, so that clients can read the refusal.
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
        """Start to accept connections."""
        self._pause = None
        self._loop.add_reader(self._listener.fileno(), self._on_ready)

    def stop(self) -> None:
        """Stop to accept connections; the socket stays open."""
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._loop.remove_reader(self._listener.fileno())

    def _on_ready(self) -> None:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        # The kernel gives the lowest free number: a number as high as this means that nearly all are in use.
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
                # The closed descriptor is free in the loop's next iteration, which comes at once.
                break
        if refused and not taken:
            self._rest("nearly all files that this process may open are open", limit)

    def _turn_away(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(connection):
            # Read first what the client has sent: closing with unread bytes would reset the connection.
            with contextlib.suppress(BlockingIOError):
                connection.recv(64 * 1024)
            connection.send(self._refusal)
            connection.shutdown(socket.SHUT_WR)

    def _rest(self, why: str, limit: int) -> None:
        """Accept nothing for a moment; clients wait in the listener's queue."""
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
    """Return a replacement for tornado's `add_accept_handler`.

    Args:
        log: Logger for the error that there is no room.

    Returns:
        A function that accepts connections from a socket for a callback, and returns the function that stops it.
    """

    def add(listener: socket.socket, take: Take) -> Callable[[], None]:
        acceptor = Acceptor(listener, take, log)
        acceptor.start()
        return acceptor.stop

    return add
