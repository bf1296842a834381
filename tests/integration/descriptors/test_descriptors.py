"""A server that runs out of file descriptors: no client waits in vain, no loop spins, and no log is flooded."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

LIMIT = 64
SCRIPT = Path(__file__).with_name("server.py")


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    port: int
    log: Path
    kind: str

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def try_to_ask(self) -> tuple[int, str | None, str] | None:
        """What it says, with the code of a problem document; None where its refusal crossed with the request."""
        try:
            status, again, body = self.ask()
        except ConnectionError:
            return None
        return status, again, json.loads(body)["code"] if status != 200 else ""

    def ask(self) -> tuple[int, str | None, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", "/x")
            answer = connection.getresponse()
            return answer.status, answer.getheader("Retry-After"), answer.read()


@pytest.fixture(params=["service", "proxy", "hub"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    log = tmp_path / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), request.param, str(LIMIT)], stdout=subprocess.PIPE, stderr=file
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text()
        yield Server(process, int(line), log, request.param)
    finally:
        process.kill()
        process.communicate()


def test_a_crowd_that_is_being_served_costs_neither_a_processor_nor_the_disk(
    server: Server,
) -> None:
    assert server.ask()[0] == 200
    quiet = len(server.log.read_text())
    with contextlib.ExitStack() as crowd:
        for _ in range(3 * LIMIT):
            held = crowd.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            with contextlib.suppress(OSError):  # it may have been turned away already
                held.sendall(b"GET /hold HTTP/1.1\r\nHost: whole\r\n\r\n")
        before = server.cpu_s()
        until = time.monotonic() + 2
        told = set()
        while time.monotonic() < until:
            told.add(server.try_to_ask())
        said = server.log.read_text()[quiet:]
        if server.kind == "proxy":
            # Each request takes three descriptors of this process: some of the crowd are refused after a while, and
            # others have their place. All are told something.
            assert told - {None} <= {(503, "2", "restarting"), (200, None, "")}
        else:
            assert told - {None} == {(503, "2", "restarting")}
            assert server.cpu_s() - before < 1.0
            assert "no room for more connections" in said
        # On those that were closed before they had sent their request, on those that were turned away, on the proxy's.
        assert said.count("\n") <= 4, said
        assert "Traceback" not in said
    end = time.monotonic() + 30
    while server.try_to_ask() != (200, None, ""):
        assert time.monotonic() < end


@pytest.mark.parametrize("says", [b"", b"GET /x HTTP/1.1\r\nHost: half\r\n"])
def test_a_crowd_that_sends_no_whole_request_makes_room_for_those_who_do(server: Server, says: bytes) -> None:
    with contextlib.ExitStack() as crowd:
        for _ in range(3 * LIMIT):
            held = crowd.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            with contextlib.suppress(OSError):  # it may have been closed already
                held.sendall(says)
        for _ in range(10):
            assert server.ask()[0] == 200


def test_those_who_are_served_are_served_on_while_others_are_turned_away(server: Server) -> None:
    first = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with contextlib.closing(first), contextlib.ExitStack() as crowd:
        first.request("GET", "/hold")
        for _ in range(3 * LIMIT):
            crowd.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        for _ in range(5):
            assert server.ask()[0] == 200
        assert first.sock is not None
        first.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):  # closed would be the end of the file, or a reset
            first.sock.recv(1)
