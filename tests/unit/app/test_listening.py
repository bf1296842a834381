"""A port that is in use is an error that names it and says what to do."""

from __future__ import annotations

import errno
import os
import re
import socket
from typing import Any

import pytest
from tornado.tcpserver import TCPServer

from hai_scheduler.app.listening import CannotListen, listen_at


class Refused(TCPServer):
    """A server whose port is in use."""

    def listen(self, *_: Any, **__: Any) -> None:
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def test_a_port_that_is_in_use_is_named_with_its_setting() -> None:
    words = "--health-port 8088: nothing can listen at 127.0.0.1 port 8088 (Address already in use)"
    with pytest.raises(CannotListen, match=re.escape(words)):
        listen_at(Refused(), "127.0.0.1", 8088, setting="health-port")


async def test_it_listens_once_the_port_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    server = TCPServer()
    listen_at(server, "127.0.0.1", port, setting="port")
    with socket.create_connection(("127.0.0.1", port)):
        server.stop()
