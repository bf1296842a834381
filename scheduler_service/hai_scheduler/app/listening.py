"""Listening at an address of the settings."""

from __future__ import annotations

from tornado.tcpserver import TCPServer


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
        CannotListen: The port is in use, or the address is not of this machine.
    """
    try:
        server.listen(port, address=address)
    except OSError as error:
        raise CannotListen(
            f"--{setting} {port}: nothing can listen at {address} port {port} ({error.strerror}): end the program that "
            f"does, or choose another port with --{setting}"
        ) from error
