"""The HTTP server of both processes: it bears connections that send nothing, and a lack of file descriptors."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable

from tornado.httpserver import HTTPServer

from hai_client.accepting import accept_handler
from hai_client.waiting import HeedsWaiting

log = logging.getLogger(__name__)


class Server(HeedsWaiting, HTTPServer):
    """tornado's, but where file descriptors run out it closes connections that wait for a request, the oldest first.

    Where there are none it rests and says so; some descriptors it keeps for the service itself.
    """

    waiting_log = log

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections on these listening sockets."""
        take_from = accept_handler(log)
        for listener in sockets:
            self._sockets[listener.fileno()] = listener
            self._handlers[listener.fileno()] = take_from(listener, self._handle_connection)
