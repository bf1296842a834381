"""Streams over HTTP: they end with the right to read them, and none outlives or waits for its reader."""

from __future__ import annotations

import asyncio

import pytest

from hai_scheduler.api.server import streaming
from hai_scheduler.ports.values import HistoryEvent
from kit.waiting import until


def feed(world, query: str = "", who: str = "alice"):
    return world.stream(f"/events{query}", who)


@pytest.mark.parametrize("path", ["/events", "/tasks/train/logs?follow=1"])
async def test_an_open_stream_ends_when_its_token_is_revoked(world, monkeypatch, path: str) -> None:
    monkeypatch.setattr(streaming, "LOOKS_AGAIN", 0.0)
    await world.submit()
    async with world.stream(path) as messages:
        del world.hub.tokens["alice-token"]
        world.hub.forget()
        kind, _, problem = [message async for message in messages][-1]
    assert (kind, problem["status"], problem["code"]) == ("problem", 401, "unauthorized")


async def test_an_open_stream_ends_when_its_scope_is_taken_away(world, monkeypatch) -> None:
    monkeypatch.setattr(streaming, "LOOKS_AGAIN", 0.0)
    async with feed(world) as messages:
        await anext(messages)
        world.hub.tokens["alice-token"]["scopes"].remove("custom:hai:tasks:read")
        world.hub.tokens["alice-token"]["scopes"].remove("custom:hai:tasks:write")
        world.hub.forget()
        kind, _, problem = [message async for message in messages][-1]
    assert (kind, problem["code"]) == ("problem", "forbidden")


async def test_a_user_who_is_no_longer_an_admin_has_to_begin_again(world, monkeypatch) -> None:
    monkeypatch.setattr(streaming, "LOOKS_AGAIN", 0.0)
    async with feed(world, "?user=*", "admin") as messages:
        await anext(messages)
        world.hub.tokens["admin-token"]["scopes"].remove("custom:hai:admin")
        world.hub.forget()
        assert [kind async for kind, _, _ in messages] == []
    assert (await world.json("GET", "/events?user=*", "admin"))[0] == 403


async def test_an_open_stream_outlives_a_hub_that_starts_again(world, monkeypatch) -> None:
    monkeypatch.setattr(streaming, "LOOKS_AGAIN", 0.0)
    async with feed(world) as messages:
        await anext(messages)
        asked = len(world.hub.asked)
        world.hub.broken = True
        world.hub.forget()
        await until("the Hub to be asked again", lambda: len(world.hub.asked) > asked + 1)
        await world.submit("after")
        assert (await anext(messages))[0] == "task.submitted"


async def test_a_reader_who_goes_away_leaves_nothing_behind(world) -> None:
    async with feed(world) as messages:
        await anext(messages)
        await until("the reader of the feed to listen", lambda: world.listeners("feed") == 1)
    await until("the reader of the feed to be gone", lambda: not world.listeners("feed"))


async def test_proxies_are_asked_not_to_hold_a_stream_back(world) -> None:
    async with world.ask("GET", "/events") as response:
        assert response.headers["X-Accel-Buffering"] == "no"
        assert response.headers["Cache-Control"] == "no-store"


async def test_a_quiet_stream_is_kept_alive(world, monkeypatch) -> None:
    monkeypatch.setattr(streaming, "KEEP_ALIVE", 0.05)
    async with asyncio.timeout(60), world.ask("GET", "/events") as response:
        seen = b""
        while seen.count(b": keep-alive\n\n") < 2:
            seen += await response.content.readany()


async def test_a_stream_ends_in_time_so_that_rights_are_looked_at_again(world, monkeypatch) -> None:
    monkeypatch.setattr(streaming, "STREAM_LIFE", 0.1)
    async with feed(world) as messages:
        assert [event async for event, _, _ in messages] == ["hello"]


async def test_a_reader_who_takes_nothing_is_let_go_and_holds_little(world, monkeypatch) -> None:
    monkeypatch.setattr(streaming, "STALLED", 0.3)
    text = "x" * 100_000
    async with world.store.write() as tx:
        for _ in range(400):
            await tx.events.add(
                HistoryEvent(
                    at=world.latest_plan.last_tick, kind="task.held", actor="a", user="alice", data={"text": text}
                )
            )
    host, port = world.root.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port), limit=1024)
    writer.write(
        b"GET /services/hai/api/v1/events?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n\r\n"
    )
    await writer.drain()
    await until("the reader of the feed to listen", lambda: world.listeners("feed") == 1)
    await until("the reader of the feed to be gone", lambda: not world.listeners("feed"))
    writer.transport.abort()
