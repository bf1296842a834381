"""The aiohttp site of the embedded proxy, which survives a lack of file descriptors and half-sent requests."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from ssl import SSLContext
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from hai_client.accepting import Acceptor
from hai_client.waiting import BODY, HEADER_S, IDLE, NEW, Seldom, Waiting, waiting
from hai_spawner.proxy.headers import asks_for_websocket

#: Most bytes that may come where a header is due. aiohttp bounds each line of a header, and allows 128 of them; what
#: follows the header is counted too until the request is known, and the kernel may hand over much of that at once.
HEAD_BYTES: Final = 1024 * 1024


class _Connection(web.RequestHandler):
    """aiohttp's handler of one connection, which registers it as waiting for its first request, and bounds headers."""

    def __init__(self, book: Waiting, server: web.Server, **settings: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **settings)
        self._book = book
        #: Bytes since a header is due; None while a body, or a websocket, is on its way.
        self._head: int | None = 0

    def expect(self, *, head: bool) -> None:
        """Note whether what comes next is a header."""
        self._head = 0 if head else None

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            self._head += len(data)
            if self._head > HEAD_BYTES:
                self.abort()
                return
        super().data_received(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._book.waits(self, NEW, self.abort)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._book.done(self)
        super().connection_lost(exc)

    def lags(self) -> bool:
        """Return whether part of an answer waits for the client to read it."""
        transport = self.transport
        return isinstance(transport, asyncio.WriteTransport) and transport.get_write_buffer_size() > 0

    def abort(self) -> None:
        """Close the connection at once."""
        if self.transport is not None:
            self.transport.abort()


Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]


def heeding_bodies(handle: Handle, log: logging.Logger) -> Handle:
    """Return a handler that also registers connections which wait for a request's body or for the next request.

    Args:
        handle: The handler of requests.
        log: Log for the message that connections were closed.
    """

    async def heeding(request: web.Request) -> web.StreamResponse:
        book, connection = waiting(log), request.protocol
        assert isinstance(connection, _Connection)

        def serve() -> None:
            if connection.transport is not None:
                book.serves(connection, connection.lags, connection.abort)

        def arrived() -> None:
            connection.expect(head=True)
            serve()

        if request.body_exists and not request.content.is_eof():
            connection.expect(head=False)
            book.waits(connection, BODY, connection.abort)
            request.content.on_eof(arrived)
        else:
            connection.expect(head=not asks_for_websocket(request))
            serve()
        try:
            return await handle(request)
        finally:
            if request.content.is_eof():
                connection.expect(head=True)
            if connection.transport is not None and not connection.transport.is_closing():
                book.waits(connection, IDLE, connection.abort)

    return heeding


class GuardedSite(web.BaseSite):
    """A TCP site with an accept loop of its own.

    Args:
        runner: Runner of the application, already set up.
        host: Address to listen on.
        port: Port to listen on.
        log: Log for the message that file descriptors run short.
        connection: Arguments for `web.RequestHandler`.
        ssl_context: Context for HTTPS; None: plain HTTP.
    """

    __slots__ = ("_acceptors", "_connection", "_host", "_listeners", "_log", "_port", "_starting")

    def __init__(
        self,
        runner: web.AppRunner,
        host: str | None,
        port: int,
        log: logging.Logger,
        *,
        connection: Mapping[str, Any],
        ssl_context: SSLContext | None = None,
    ) -> None:
        super().__init__(runner, ssl_context=ssl_context)
        self._connection = connection
        self._host = host
        self._port = port
        self._log = log
        self._listeners: list[socket.socket] = []
        self._acceptors: list[Acceptor] = []
        #: Connections whose protocol is being made; with TLS that takes a handshake.
        self._starting: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The URL of the site, as aiohttp names its sites."""
        return f"{'https' if self._ssl_context else 'http'}://{self._host}:{self._port}"

    async def start(self) -> None:
        """Start to listen. Raises OSError."""
        await super().start()
        loop = asyncio.get_running_loop()
        assert self._runner.server is not None
        # asyncio only binds here: its own accept loop logs a hundred tracebacks a second when descriptors run short.
        server = await loop.create_server(self._runner.server, self._host, self._port, start_serving=False)
        self._server = server
        for bound in server.sockets:
            listener = socket.socket(fileno=os.dup(bound.fileno()))
            listener.setblocking(False)
            listener.listen(self._backlog)
            self._listeners.append(listener)
            acceptor = Acceptor(listener, self._take, self._log, plain=self._ssl_context is None)
            self._acceptors.append(acceptor)
            acceptor.start()

    def renew(self, ssl_context: SSLContext) -> None:
        """Serve new connections with another certificate; those that are open go on."""
        self._ssl_context = ssl_context

    async def stop(self) -> None:
        """Stop listening."""
        for acceptor in self._acceptors:
            acceptor.stop()
        for listener in self._listeners:
            listener.close()
        for task in self._starting:
            task.cancel()
        await super().stop()

    def _take(self, connection: socket.socket, _address: Any) -> None:
        task = asyncio.get_running_loop().create_task(self._begin(connection))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        if self._ssl_context is not None:
            # A connection in its TLS handshake waits for a first request too.
            book = waiting(self._log)
            book.waits(task, NEW, task.cancel)
            task.add_done_callback(book.done)

    async def _begin(self, connection: socket.socket) -> None:
        server, book = self._runner.server, waiting(self._log)
        assert server is not None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: _Connection(book, server, **self._connection),
                connection,
                ssl=self._ssl_context,
                ssl_handshake_timeout=None if self._ssl_context is None else HEADER_S,
            )
        except OSError as error:
            # A handshake that failed, or a client that has gone again.
            self._log.debug("A connection ended before it began: %s", error)
            connection.close()


class OneLineLog(logging.LoggerAdapter[logging.Logger]):
    """The log for aiohttp: a client's mistake is one line, and there are few such lines a minute."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__(log, {})
        self._seldom = Seldom()

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Return message and arguments as they are."""
        return msg, kwargs

    def exception(self, msg: Any, *args: Any, exc_info: Any = True, **kwargs: Any) -> None:
        """Log an error: one line without a traceback for a malformed request, with the traceback for all others."""
        if not isinstance(exc_info, HttpProcessingError):
            super().exception(msg, *args, exc_info=exc_info, **kwargs)
            return
        held_back = self._seldom.due()
        if held_back is not None:
            more = f" ({held_back} more since the last such line)" if held_back else ""
            # The error's message is left out: it may quote the request, which may hold a token.
            where = args[0] if args else "?"
            self.info("Malformed request from %s: %s%s", where, type(exc_info).__name__, more)
