"""Where the service cannot listen, the error names the setting and says what to do."""

from __future__ import annotations

import errno
import os
import re
import socket
from typing import Any

import pytest
from tornado.tcpserver import TCPServer

from hai_scheduler.app.config import ConfigError
from hai_scheduler.app.listening import CannotListen, listen_at


class Refused(TCPServer):
    """A server that cannot listen."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def listen(self, *_: Any, **__: Any) -> None:
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EADDRINUSE, "Address already in use: end the program that listens there, or choose another port"),
        (errno.EADDRNOTAVAIL, "Cannot assign requested address: choose an address of this machine, and a port that"),
        (errno.EACCES, "Permission denied: choose an address of this machine, and a port that this account may use"),
    ],
)
def test_the_error_names_the_setting_the_address_and_the_remedy(number: int, words: str) -> None:
    with pytest.raises(CannotListen, match=re.escape(f"--health-port 88: cannot listen at 127.0.0.1: {words}")):
        listen_at(Refused(number), "127.0.0.1", 88, setting="health-port")


@pytest.mark.parametrize("port", [-1, 65_536, 70_000])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(ConfigError, match=f"^--port {port}: there is no such port: choose one from 1 to 65535"):
        listen_at(Refused(errno.EINVAL), "127.0.0.1", port, setting="port")


async def test_it_listens_once_the_port_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    server = TCPServer()
    listen_at(server, "127.0.0.1", port, setting="port")
    with socket.create_connection(("127.0.0.1", port)):
        server.stop()
