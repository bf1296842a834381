"""Ports for servers that a test starts."""

from __future__ import annotations

import random
import socket
from collections import deque

#: Below the ports that kernels give to clients (net.ipv4.ip_local_port_range, 32768 and up): no connection of another
#: test takes the port between the choice and the start of the server.
PORTS = range(20_000, 32_768)
#: How many of its last ports a process keeps for itself: long after their servers have started.
KEPT = 100
_kept: deque[socket.socket] = deque()


def free_port(ip: str = "127.0.0.1") -> int:
    """A port at which nobody listens now, and that no other call gets before it is used, in any process of tests."""
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe:
            # As servers do: what an earlier server has left in TIME_WAIT is no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ip, port))
                _keep(port)
            except OSError:
                continue
            return port
    raise OSError(f"100 ports of {ip} were tried, and all are in use")


def _keep(port: int) -> None:
    """Mark a port as given, by the UDP port of the same number. Raises OSError where another call has got it."""
    mark = socket.socket(type=socket.SOCK_DGRAM)
    try:
        mark.bind(("127.0.0.1", port))
    except OSError:
        mark.close()
        raise
    _kept.append(mark)
    if len(_kept) > KEPT:
        _kept.popleft().close()
