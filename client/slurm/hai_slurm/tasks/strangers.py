"""Connections that have not proved yet that they belong to the run: how many there may be, and which are closed first.

Anybody who reaches the port can open connections and prove nothing. So a new one is always taken, and one that waits
makes room for it: of the address that has the most of them, the oldest. One of the run has proved itself in
milliseconds, and comes again if it was closed before that.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter

#: Limit of connections that have proved nothing yet.
MOST = 64


class Strangers:
    """The connections of one server that have proved nothing yet."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        #: The address of each, the oldest first.
        self._peers: dict[socket.socket, str] = {}

    def take(self, sock: socket.socket, peer: str) -> None:
        """Note a new connection from an address; if there are too many, another one is shut down."""
        with self._lock:
            if len(self._peers) >= self._most:
                # Of two addresses that have as many, the one that has had one for longest.
                crowd = Counter(self._peers.values()).most_common(1)[0][0]
                oldest = next(one for one, its in self._peers.items() if its == crowd)
                del self._peers[oldest]
                # Its thread closes it: the number of a closed one could be another connection's by then.
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._peers[sock] = peer

    def done(self, sock: socket.socket) -> None:
        """Forget a connection, which has proved itself or is closed."""
        with self._lock:
            self._peers.pop(sock, None)
