"""Where the embedded proxy listens: an aiohttp site that bears a lack of file descriptors."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import MutableMapping
from ssl import SSLContext
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from hai_client.accepting import Acceptor, Seldom


class GuardedSite(web.BaseSite):
    """A TCP site with an accept loop of its own.

    Args:
        runner: What handles requests; it has been set up.
        host: The address to listen on.
        port: The port.
        log: For the word that there is no room.
        ssl_context: For HTTPS.
    """

    __slots__ = ("_acceptors", "_host", "_listeners", "_log", "_port", "_starting")

    def __init__(
        self,
        runner: web.AppRunner,
        host: str | None,
        port: int,
        log: logging.Logger,
        *,
        ssl_context: SSLContext | None = None,
    ) -> None:
        super().__init__(runner, ssl_context=ssl_context)
        self._host = host
        self._port = port
        self._log = log
        self._listeners: list[socket.socket] = []
        self._acceptors: list[Acceptor] = []
        #: Connections whose protocol is being made; with TLS that takes a handshake.
        self._starting: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The address, as aiohttp names its sites."""
        return f"{'https' if self._ssl_context else 'http'}://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen. Raises OSError."""
        await super().start()
        loop = asyncio.get_running_loop()
        assert self._runner.server is not None
        # asyncio binds; it would also accept, and on a lack of descriptors write a hundred tracebacks a second.
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

    async def stop(self) -> None:
        """Listen no more."""
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

    async def _begin(self, connection: socket.socket) -> None:
        assert self._runner.server is not None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._runner.server, connection, ssl=self._ssl_context
            )
        except OSError as error:
            # A handshake that failed, or a client that has gone again.
            self._log.debug("A connection ended before it began: %s", error)
            connection.close()


class OneLineLog(logging.LoggerAdapter[logging.Logger]):
    """What aiohttp writes to: what a client did wrong is one line, and not more than one in a while."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__(log, {})
        self._seldom = Seldom()

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Leave messages as they are."""
        return msg, kwargs

    def exception(self, msg: Any, *args: Any, exc_info: Any = True, **kwargs: Any) -> None:
        """Log an error: with its traceback if it is ours, as a word on the request if that was malformed."""
        if not isinstance(exc_info, HttpProcessingError):
            super().exception(msg, *args, exc_info=exc_info, **kwargs)
            return
        held_back = self._seldom.due()
        if held_back is not None:
            more = f" ({held_back} more since the last such line)" if held_back else ""
            # Its message may quote the request, which may hold a token.
            where = args[0] if args else "?"
            self.info("Malformed request from %s: %s%s", where, type(exc_info).__name__, more)
