"""What the interface never does: keep a large body, answer in another form, or tell what only the log should know."""

from __future__ import annotations

import asyncio
import io
import logging
import tracemalloc

import pytest
from yarl import URL

from hai_scheduler.api.server.bodies import MAX_BODY
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.insight.queries import Queries

MIB = 1024 * 1024


async def chunks(count: int):
    piece = b" " * (MIB // 4)
    for _ in range(count * 4):
        yield piece


@pytest.mark.parametrize("who", ["alice", None])
async def test_a_body_of_a_hundred_megabytes_is_refused_and_never_kept(world, who) -> None:
    headers = {"Content-Type": "application/json"}
    tracemalloc.start()
    try:
        status, problem = await world.json("POST", "/tasks", who, data=chunks(100), headers=headers)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (status, problem["code"]) in [(413, "too_large"), (401, "unauthorized")]
    assert (status == 401) == (who is None)
    assert peak < 16 * MIB


async def test_a_stated_length_above_the_limit_is_refused(world) -> None:
    headers = {"Content-Type": "application/json"}
    status, problem = await world.json("POST", "/tasks", data=io.BytesIO(b" " * (MAX_BODY + 1)), headers=headers)
    assert (status, problem["code"]) == (413, "too_large")
    status, problem = await world.json("POST", "/tasks", data=io.BytesIO(b" " * MAX_BODY), headers=headers)
    assert (status, problem["code"]) == (400, "invalid")


async def test_who_waits_for_leave_to_send_is_told_at_once(world) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": str(200 * MIB)}
    async with world.ask("POST", "/tasks", data=chunks(100), headers=headers, expect100=True) as response:
        assert response.status == 413
        assert response.headers["Connection"] == "close"


async def test_a_connection_is_kept_after_a_refusal(world) -> None:
    for _ in range(5):
        assert (await world.json("POST", "/tasks/none/stop"))[0] == 404
        assert (await world.json("GET", "/me", None))[0] == 401
        assert (await world.json("POST", "/tasks", None, json={"name": "x"}))[0] == 401


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/tasks/", 404, "not_found"),
        ("GET", "/tasks/a/b/c", 404, "not_found"),
        ("GET", "/tasks/%ff", 400, "invalid"),
        ("DELETE", "/tasks", 405, "method_not_allowed"),
        ("PATCH", "/tasks/a", 405, "method_not_allowed"),
        ("HEAD", "/nowhere", 404, None),
        ("HEAD", "/tasks/t/stop", 405, None),
        ("OPTIONS", "/me", 405, "method_not_allowed"),
        ("BREW", "/me", 405, "method_not_allowed"),
        ("TRACE", "/me", 405, "method_not_allowed"),
        ("QUERY", "/me", 405, "method_not_allowed"),
        ("GET", "/tasks/a%0Ab", 404, "not_found"),
        ("GET", "/a%0Ab", 404, "not_found"),
    ],
)
async def test_what_there_is_not_is_answered_as_a_problem(world, method, path, status, code) -> None:
    async with world.ask(method, path) as response:
        assert response.status == status
        assert response.content_type == "application/problem+json"
        if code:
            assert (await response.json())["code"] == code


async def test_a_path_outside_the_interface_is_answered_as_a_problem(world) -> None:
    async with world.client.get(f"{world.root}/etc/passwd") as response:
        assert (response.status, response.content_type) == (404, "application/problem+json")


@pytest.mark.parametrize("method", ["QUERY", "BREW", "PATCH", "WRITE_ERROR", "FINISH", "OTHER"])
async def test_a_method_that_there_is_not_is_refused_once_its_body_has_gone_by(world, method) -> None:
    me = URL(f"{world.url}/me")
    reader, writer = await asyncio.open_connection(me.host, me.port)
    body = b"x" * 300_000
    head = f"{method} {me.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(3):  # on one connection: a server that cuts it would not let the sender read why
        writer.write(head.encode())
        await writer.drain()
        writer.write(body)
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        assert answer.startswith(b"HTTP/1.1 405 ")
        assert b"\r\nAllow: GET, HEAD\r\n" in answer
        length = next(line for line in answer.split(b"\r\n") if line.startswith(b"Content-Length: "))
        assert b"method_not_allowed" in await reader.readexactly(int(length[16:]))
    writer.close()
    await writer.wait_closed()


async def test_what_cannot_be_done_for_now_says_when_to_try_again(world, monkeypatch) -> None:
    async def away(*_: object) -> None:
        raise Temporary("the database is away")

    monkeypatch.setattr(Queries, "whole_cluster", away)
    async with world.ask("GET", "/cluster") as response:
        assert (response.status, response.headers["Retry-After"]) == (503, "1")
    async with world.ask("GET", "/nowhere") as response:
        assert "Retry-After" not in response.headers


async def test_a_wrong_method_names_the_right_ones(world) -> None:
    async with world.ask("DELETE", "/tasks") as response:
        assert response.headers["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("method", ["BREW", "TRACE", "QUERY", "PATCH", "OPTIONS", "POST"])
async def test_every_wrong_method_is_told_the_right_ones(world, method: str) -> None:
    body = b"x" * 100_000 if method in ("QUERY", "POST") else None
    async with world.ask(method, "/me", data=body) as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/me", "/tasks", "/openapi.json", "/health", "/events"])
async def test_head_answers_as_get_does_without_its_body(world, path: str) -> None:
    async with world.ask("HEAD", path) as response:
        assert (response.status, await response.read()) == (200, b"")
        kind = response.content_type
    assert kind == ("text/event-stream" if path == "/events" else "application/json")
    assert not world.listeners("feed")


@pytest.mark.parametrize("path", ["/health", "/me", "/nowhere"])
async def test_every_answer_has_the_headers_that_keep_browsers_away(world, path) -> None:
    async with world.ask("GET", path) as response:
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert "Server" not in response.headers


async def test_a_fault_of_ours_is_told_by_its_incident_alone(world, monkeypatch, caplog) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("password hunter2")

    monkeypatch.setattr(type(world.platform.insight.queries), "own_quota", broken)
    with caplog.at_level(logging.ERROR):
        async with world.ask("GET", "/me") as response:
            text = await response.text()
            problem = await response.json()
    assert (response.status, problem["code"]) == (500, "internal")
    assert "hunter2" not in text
    assert "RuntimeError" not in text
    incident = problem["detail"].split()[-1].rstrip(".")
    assert incident in caplog.text
    assert "hunter2" in caplog.text
    assert "alice-token" not in caplog.text


async def test_queries_are_not_logged(world, caplog) -> None:
    with caplog.at_level(logging.DEBUG, logger="hai_scheduler"):
        await world.json("GET", "/me?_xsrf=proof")
        await world.json("GET", "/tasks?cursor=proof")
    assert "proof" not in caplog.text


@pytest.mark.parametrize("path", ["/tasks", "/forecast"])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 500_000,
        b'{"a":' * 100_000,
        b'{"env":' + b"[" * 500_000,
        b'{"name":"a","command":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
    ],
    ids=lambda body: body[:12].decode(),
)
async def test_deep_json_is_wrong_input_and_no_fault_of_ours(world, path, body) -> None:
    status, problem = await world.json("POST", path, data=body, headers={"Content-Type": "application/json"})
    assert (status, problem["code"]) == (400, "invalid")
