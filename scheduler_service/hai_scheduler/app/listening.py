"""Listening at an address of the settings."""

from __future__ import annotations

import errno

from tornado.tcpserver import TCPServer

from hai_scheduler.app.config import ConfigError

#: 0 is any free port, or one that another setting names.
PORTS = range(65_536)


class CannotListen(Exception):
    """Nothing can listen at an address of the settings now; the message says why and what to do."""


def listen_at(server: TCPServer, address: str, port: int, *, setting: str) -> None:
    """Let the server listen there; port 0 is any free port.

    Args:
        server: The server.
        address: An address of this machine.
        port: The port.
        setting: The option by which an admin chooses the port: `health-port`.

    Raises:
        ConfigError: There is no such port.
        CannotListen: The port is in use, the address is not of this machine, or the account may not use the port.
    """
    if port not in PORTS:
        # A kernel would take the rest of a division by 65,536.
        raise ConfigError(f"--{setting} {port}: there is no such port: choose one from 1 to {PORTS[-1]}")
    try:
        server.listen(port, address=address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            remedy = "end the program that listens there, or choose another port"
        else:
            remedy = "choose an address of this machine, and a port that this account may use"
        raise CannotListen(f"--{setting} {port}: cannot listen at {address}: {error.strerror}: {remedy}") from error
