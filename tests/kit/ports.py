"""Ports for servers that a test starts."""

from __future__ import annotations

import random
import socket

#: Below the ports that kernels give to clients (net.ipv4.ip_local_port_range, 32768 and up): no connection of another
#: test takes the port between the choice and the start of the server.
PORTS = range(20_000, 32_768)


def free_port(ip: str = "127.0.0.1") -> int:
    """A port at which nobody listens now; another call gives, almost certainly, another one."""
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe:
            # As servers do: what an earlier server has left in TIME_WAIT is no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ip, port))
            except OSError:
                continue
            return port
    raise OSError(f"100 ports of {ip} were tried, and all are in use")
