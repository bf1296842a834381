"""Two thousand half-sent requests against a platform that may open 1,024 files: the others are served.

`hai up` is real, with JupyterHub and the proxy in it; the scheduler service behind it is a stand-in.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest

from integration.hub.conftest import Up

FILES = 1024
CROWD = 2000
#: Seconds in which a request must be answered, on a machine that is busy with other work too.
PATIENCE = 30.0


class Confined(Up):
    """A platform that is started under `ulimit -n 1024`."""

    def launch(self, *words: str) -> subprocess.Popen[bytes]:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
        try:
            process = super().launch(*words)
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return process

    def hub_files(self) -> int:
        pid = self.hub_pid()
        assert pid is not None
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))

    def hub_port(self) -> int:
        port: int = json.loads((self.state / "state.json").read_text())["hub_port"]
        return port


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Confined]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * CROWD:
        pytest.skip(f"this machine allows {hard} open files, and the crowd needs {2 * CROWD}")
    made = Confined(tmp_path_factory.mktemp("confined") / "home")
    try:
        made.start()
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * CROWD), hard))
        yield made
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        made.end()


@contextlib.asynccontextmanager
async def crowd(port: int, says: bytes, *, size: int = CROWD) -> AsyncIterator[list[socket.socket]]:
    """`size` open connections, each of which has sent `says` and sends nothing after it."""
    held: list[socket.socket] = []
    loop = asyncio.get_running_loop()
    try:
        for _ in range(size):
            sock = socket.socket()
            held.append(sock)
            sock.setblocking(False)
            async with asyncio.timeout(PATIENCE):
                await loop.sock_connect(sock, ("127.0.0.1", port))
            with contextlib.suppress(OSError):  # the server may have closed the connection already
                sock.send(says)
        yield held
    finally:
        for sock in held:
            sock.close()


async def is_served(up: Up) -> list[float]:
    """Send several requests, each on a connection of its own; returns the seconds that each answer took."""
    took = []
    for _ in range(10):
        began = time.monotonic()
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        async with aiohttp.ClientSession(up.url, timeout=timeout) as client, client.get("/hub/login") as answer:
            assert answer.status == 200, await answer.text()
            assert "password" in await answer.text()
        took.append(time.monotonic() - began)
    return took


HALF_A_HEADER = b"GET /hub/login HTTP/1.1\r\nHost: half\r\nX-Slow: "
NO_BODY = b"POST /hub/login HTTP/1.1\r\nHost: half\r\nContent-Length: 1000\r\n\r\n"
NOTHING_MORE = b"GET /services/nothing HTTP/1.1\r\nHost: half\r\n\r\n"


@pytest.mark.parametrize(
    "says",
    [b"", HALF_A_HEADER, NO_BODY, NOTHING_MORE],
    ids=["none", "header", "body", "idle"],
)
async def test_a_client_that_sends_a_whole_request_is_served_beside_two_thousand_that_do_not(
    confined: Confined, says: bytes
) -> None:
    await is_served(confined)
    async with crowd(confined.port, says):
        took = await is_served(confined)
        assert max(took) < PATIENCE
        # The Hub's own work needs some files: a connection to the scheduler, the log, the database.
        assert confined.hub_files() < FILES - FILES // 16
    assert (confined.state / "logs" / "hub.log").stat().st_size < 1024 * 1024


async def test_the_hubs_own_port_is_guarded_in_the_same_way(confined: Confined) -> None:
    async with crowd(confined.hub_port(), HALF_A_HEADER):
        await is_served(confined)
        assert confined.hub_files() < FILES - FILES // 16


async def test_two_thousand_malformed_requests_write_few_lines_and_no_traceback(confined: Confined) -> None:
    log = confined.state / "logs" / "hub.log"
    before = log.stat().st_size
    for port in (confined.port, confined.hub_port()):
        async with crowd(port, b"\x00\xff not http\r\n\r\n"):
            await is_served(confined)
    said = log.read_bytes()[before:]
    assert b"Traceback" not in said
    assert len(said) < 64 * 1024, said[:2000]
