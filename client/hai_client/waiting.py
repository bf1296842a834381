"""Connections over which no whole request has come yet: how long they may stay, and which are closed first.

A client that opens connections and sends nothing, or an unfinished header, holds file descriptors at no cost to itself
("slowloris"). On loopback all users have one address, so a limit for each address would stop the wrong clients. Instead
the connections that wait are counted for the whole process; beyond their share, and whenever descriptors run short,
the oldest of them are closed. An honest client has sent its request milliseconds after it has connected.

tornado's and aiohttp's servers of a process share one `Waiting`, as they share the descriptors.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final
from weakref import WeakKeyDictionary

#: Seconds from the connection to the end of the first request's header.
HEADER_S: Final = 10.0
#: Seconds that a connection may rest between two requests. Browsers and proxies keep theirs for a minute or so.
IDLE_S: Final = 75.0
#: Seconds in which a body must have arrived, for servers that take small bodies.
BODY_S: Final = 120.0
#: Time between two log lines on the same trouble, seconds.
LOG_EVERY_S: Final = 60.0

#: No whole header has come yet.
NEW: Final = "new"
#: The header has come, and the body that it announces has not.
BODY: Final = "body"
#: Between two requests.
IDLE: Final = "idle"

#: The order in which waiting connections are closed when descriptors run short.
_ORDER: Final = (NEW, BODY, IDLE)
#: By kind, the share of the descriptors: one in 4, one in 16. A request through the Hub's process takes three.
_SHARE: Final = {NEW: 4, BODY: 16, IDLE: 4}
_LIFE_S: Final = {NEW: HEADER_S, IDLE: IDLE_S}
_LEAST: Final = 4


class Seldom:
    """Rate limit for a log message: lets one through per interval and counts the others.

    Args:
        every_s: The shortest time between two, seconds.
        clock: Seconds that only grow.
    """

    def __init__(self, every_s: float = LOG_EVERY_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._clock = clock
        self._next: float | None = None
        self._held_back = 0

    def due(self) -> int | None:
        """Return how many messages were held back since the last one; None: hold this one back too."""
        now = self._clock()
        if self._next is not None and now < self._next:
            self._held_back += 1
            return None
        self._next = now + self._every_s
        held_back, self._held_back = self._held_back, 0
        return held_back


def file_limit() -> int:
    """Return how many files this process may have open now."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class Waiting:
    """The connections of one event loop that wait for a request.

    Args:
        loop: The event loop; its clock measures how long connections have waited.
        log: Logger for the warning that connections were closed.
        limit: How many files the process may have open.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, log: logging.Logger, *, limit: Callable[[], int] = file_limit
    ) -> None:
        self._loop = loop
        self._log = log
        self._limit = limit
        #: Waiting connections by kind, the oldest first: since when each waits, and how to close it.
        self._kinds: dict[str, OrderedDict[Hashable, tuple[float, Callable[[], object]]]] = {
            kind: OrderedDict() for kind in _ORDER
        }
        #: Connections being served: whether the client lags behind what is sent, and how to close the connection.
        self._served: OrderedDict[Hashable, tuple[Callable[[], bool], Callable[[], object]]] = OrderedDict()
        #: By kind, the timer for when the oldest connection has waited too long.
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._seldom = Seldom(clock=loop.time)

    def count(self, kind: str) -> int:
        """Return how many connections wait in this way: `NEW`, `BODY` or `IDLE`."""
        return len(self._kinds[kind])

    def waits(self, connection: Hashable, kind: str, close: Callable[[], object]) -> None:
        """Note that a connection waits from now on in this way, and close the oldest one if there are too many.

        Args:
            connection: The server's key for the connection.
            kind: `NEW`, `BODY` or `IDLE`.
            close: Closes the connection at once.
        """
        self.done(connection)
        of_kind = self._kinds[kind]
        of_kind[connection] = (self._loop.time(), close)
        # RLIM_INFINITY is negative.
        limit = self._limit()
        if limit > 0 and len(of_kind) > max(_LEAST, limit // _SHARE[kind]):
            self._close_oldest(kind, "there are too many of them")
        if kind in _LIFE_S and kind not in self._timers:
            self._timers[kind] = self._loop.call_later(_LIFE_S[kind], self._look, kind)

    def serves(self, connection: Hashable, lags: Callable[[], bool], close: Callable[[], object]) -> None:
        """Note that a connection is being served from now on.

        Args:
            connection: The server's key for the connection.
            lags: Returns whether some of the answer waits for the client to read it.
            close: Closes the connection at once.
        """
        self.done(connection)
        self._served[connection] = (lags, close)

    def done(self, connection: Hashable) -> None:
        """Forget a connection that is closed."""
        self._served.pop(connection, None)
        for of_kind in self._kinds.values():
            of_kind.pop(connection, None)

    def make_room(self) -> bool:
        """Close the connection that is the least loss, and return whether there was one.

        First come connections that wait for a request, then one whose client does not read its answer. The descriptor
        is free in the next iteration of the event loop.
        """
        for kind in _ORDER:
            if self._kinds[kind]:
                self._close_oldest(kind, "descriptors run short")
                return True
        for connection, (lags, close) in self._served.items():
            if lags():
                del self._served[connection]
                close()
                self._say("was sent an answer and did not take it", "descriptors run short")
                return True
        return False

    def _look(self, kind: str) -> None:
        """Close the connections that have waited too long, and set the timer for the next one."""
        del self._timers[kind]
        of_kind, life_s = self._kinds[kind], _LIFE_S[kind]
        while of_kind:
            since, close = next(iter(of_kind.values()))
            if since + life_s > self._loop.time():
                self._timers[kind] = self._loop.call_at(since + life_s, self._look, kind)
                return
            of_kind.popitem(last=False)
            close()

    def _close_oldest(self, kind: str, why: str) -> None:
        _, (_, close) = self._kinds[kind].popitem(last=False)
        close()
        self._say("waited without a whole request", why)

    def _say(self, what: str, why: str) -> None:
        held_back = self._seldom.due()
        if held_back is not None:
            more = f" ({held_back} more since the last such line)" if held_back else ""
            self._log.warning("A connection that %s was closed: %s%s", what, why, more)


_OF_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, Waiting] = WeakKeyDictionary()


def waiting(log: logging.Logger) -> Waiting:
    """Return the `Waiting` of the running event loop, which the first call makes.

    Args:
        log: Logger for the warning that connections were closed; the first caller's logger is used.
    """
    loop = asyncio.get_running_loop()
    if loop not in _OF_LOOP:
        _OF_LOOP[loop] = Waiting(loop, log)
    return _OF_LOOP[loop]


class HeedsWaiting:
    """Mixin for tornado's `HTTPServer` that registers its connections with the loop's `Waiting`; put it first.

    It uses what tornado documents for `HTTPServerConnectionDelegate` and knows nothing else of tornado.
    """

    waiting_log: logging.Logger = logging.getLogger(__name__)  #: Logger for the warning that connections were closed.
    _seen: set[object] | None = None

    def start_request(self, server_conn: Any, request_conn: Any) -> Any:
        """Note that the connection waits for a request, its first or its next one."""
        if self._seen is None:
            self._seen = set()
        book = waiting(self.waiting_log)
        book.waits(server_conn, IDLE if server_conn in self._seen else NEW, request_conn.stream.close)
        self._seen.add(server_conn)
        inner = super().start_request(server_conn, request_conn)  # type: ignore[misc]  # tornado's, which stands behind
        return _Request(inner, book, server_conn, request_conn.stream)

    def on_close(self, server_conn: Any) -> None:
        """Forget the connection, which is closed."""
        if self._seen is not None:
            self._seen.discard(server_conn)
        waiting(self.waiting_log).done(server_conn)
        super().on_close(server_conn)  # type: ignore[misc]


class _Request:
    """Delegate of an incoming request: notes how much of it has arrived, and passes every call on."""

    def __init__(self, inner: Any, book: Waiting, server_conn: Any, stream: Any) -> None:
        self._inner, self._book, self._server_conn, self._stream = inner, book, server_conn, stream

    def _serve(self) -> None:
        self._book.serves(self._server_conn, self._stream.writing, self._stream.close)

    def headers_received(self, start_line: Any, headers: Any) -> Any:
        if "Transfer-Encoding" in headers or headers.get("Content-Length", "0") != "0":
            self._book.waits(self._server_conn, BODY, self._stream.close)
        else:
            self._serve()
        return self._inner.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Any:
        return self._inner.data_received(chunk)

    def finish(self) -> Any:
        self._serve()
        return self._inner.finish()

    def on_connection_close(self) -> Any:
        self._book.done(self._server_conn)
        return self._inner.on_connection_close()
