"""The HTTP server of loop and API: it withstands connections that send nothing, and a lack of file descriptors."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable

from tornado.httpserver import HTTPServer

from hai_client.accepting import accept_handler
from hai_client.waiting import HeedsWaiting

log = logging.getLogger(__name__)


class ResilientServer(HeedsWaiting, HTTPServer):
    """tornado's server that closes waiting connections, the oldest first, when file descriptors run out.

    If no connection waits for a request, it stops accepting for a while and logs that. It keeps some descriptors for
    the service itself.
    """

    waiting_log = log

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections on these listening sockets."""
        take_from = accept_handler(log)
        for listener in sockets:
            self._sockets[listener.fileno()] = listener
            self._handlers[listener.fileno()] = take_from(listener, self._handle_connection)
