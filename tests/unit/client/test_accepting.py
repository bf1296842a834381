"""Connections are accepted up to the limit of open files, and refused in words beyond it."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from hai_client import accepting
from hai_client.accepting import MOST_FILES, RETRY_AFTER_S, accept_handler, raise_file_limit, refusal
from kit.waiting import until

ENDLESS = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("before", "limits", "wanted"),
    [
        ((1024, 4096), (1024, 4096), (4096, 4096)),
        ((1024, 10**6), (1024, MOST_FILES), (MOST_FILES, 10**6)),
        ((1024, ENDLESS), (1024, MOST_FILES), (MOST_FILES, ENDLESS)),
        ((4096, 4096), (4096, 4096), None),
        ((MOST_FILES + 1, 10**6), (MOST_FILES + 1, MOST_FILES + 1), None),
        ((ENDLESS, ENDLESS), (ENDLESS, ENDLESS), None),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_it_is_sensible(
    monkeypatch: pytest.MonkeyPatch, before: tuple[int, int], limits: tuple[int, int], wanted: tuple[int, int] | None
) -> None:
    made: list[tuple[int, int]] = []
    monkeypatch.setattr(accepting.resource, "getrlimit", lambda _: before)
    monkeypatch.setattr(accepting.resource, "setrlimit", lambda _, values: made.append(values))
    assert raise_file_limit() == limits
    assert made == ([] if wanted is None else [wanted])


@pytest.mark.parametrize("error", [OSError, ValueError])
def test_a_limit_that_may_not_be_raised_stays(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(accepting.resource, "getrlimit", lambda _: (100, 200))
    monkeypatch.setattr(accepting.resource, "setrlimit", refuse)
    assert raise_file_limit() == (100, 100)


def test_a_refusal_is_a_whole_http_answer() -> None:
    head, _, body = refusal().partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ") for line in lines)
    assert status == "HTTP/1.1 503 Service Unavailable"
    assert (int(headers["Content-Length"]), headers["Retry-After"]) == (len(body), str(RETRY_AFTER_S))
    assert headers["Connection"] == "close"
    assert json.loads(body)["code"] == "restarting"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


async def test_connections_are_handed_on_until_it_is_stopped(listener: socket.socket) -> None:
    taken: list[tuple[socket.socket, Any]] = []
    stop = accept_handler(logging.getLogger("test"))(listener, lambda *given: taken.append(given))
    clients = [socket.create_connection(listener.getsockname()) for _ in range(5)]
    await until("all connections to be taken", lambda: len(taken) == 5)
    assert sorted(address for _, address in taken) == sorted(client.getsockname() for client in clients)
    assert not any(connection.getblocking() for connection, _ in taken)
    stop()
    clients.append(socket.create_connection(listener.getsockname()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(taken) == 5
    for one in [*clients, *(connection for connection, _ in taken)]:
        one.close()


async def test_without_room_a_client_is_told_to_come_back(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # All numbers of descriptors count as nearly the last one.
    monkeypatch.setattr(accepting.resource, "getrlimit", lambda _: (4, 4))
    taken: list[object] = []
    stop = accept_handler(logging.getLogger("test"))(listener, lambda *given: taken.append(given))
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    assert await reader.read() == refusal()
    writer.close()
    assert taken == []
    assert "no room for more connections (nearly all files that this process may open are open; the limit is 4)" in (
        caplog.text
    )
    stop()
