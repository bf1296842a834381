"""The feed over HTTP: in order, each once, resumable, and only what one may see."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hai_scheduler.api.server import streaming
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.insight.feed import FOR_EVERYBODY
from kit.waiting import until


def feed(world, query: str = "", who: str = "alice", last: str | None = None):
    return world.stream(f"/events{query}", who, last=last)


async def first(messages, count: int) -> list[Any]:
    return [await anext(messages) for _ in range(count)]


async def test_a_reader_hears_what_happens_from_now_on(world) -> None:
    await world.submit("before")
    async with feed(world) as messages:
        hello, ident, data = await anext(messages)
        assert (hello, ident, data) == ("hello", "1", {"seq": 1})
        task = await world.submit("after")
        kind, ident, data = await anext(messages)
        assert (kind, ident, data["task_id"], data["user"]) == ("task.submitted", "2", task.id, "alice")


async def test_a_reader_goes_on_where_it_was(world) -> None:
    for name in "abcd":
        await world.submit(name)
    async with feed(world, last="2") as messages:
        assert [ident for _, ident, _ in await first(messages, 3)] == ["2", "3", "4"]
    async with feed(world, "?after=3") as messages:
        assert [ident for _, ident, _ in await first(messages, 2)] == ["3", "4"]
    async with feed(world, "?after=0", last="3") as messages:
        assert [ident for _, ident, _ in await first(messages, 2)] == ["3", "4"]


async def test_more_events_than_fit_a_page_come_all_and_in_order(world) -> None:
    for n in range(450):
        await world.submit(f"t{n}")
    async with feed(world, "?after=0") as messages:
        ids = [int(ident) for _, ident, _ in await first(messages, 451)]
    assert ids == list(range(451))


async def test_a_number_from_the_future_starts_now(world) -> None:
    await world.submit("a")
    async with feed(world, last="999") as messages:
        assert (await anext(messages))[2] == {"seq": 1}
        await world.submit("b")
        assert (await anext(messages))[1] == "2"


async def test_others_tasks_and_quota_are_not_told(world) -> None:
    async with feed(world) as alice, feed(world, "?user=*", "admin") as admin, feed(world, "", "admin") as own:
        for messages in (alice, admin, own):
            await anext(messages)
        await world.submit("secret", user="bob")
        for subject in ("user:bob", "user:alice"):
            row = {"subject": subject, "priority": "LOW", "limit": 1}
            await world.json("PUT", "/quotas", "admin", json=row)
        await world.json("POST", "/nodes/node-1/cordon", "admin")
        heard = await first(alice, 2)
        assert [(kind, data["data"].get("subject")) for kind, _, data in heard] == [
            ("quota.put", "user:alice"),
            ("node.mark", None),
        ]
        assert [kind for kind, _, _ in await first(admin, 4)] == [
            "task.submitted",
            "quota.put",
            "quota.put",
            "node.mark",
        ]
        assert [kind for kind, _, _ in await first(own, 3)] == ["quota.put", "quota.put", "node.mark"]
    assert (await world.json("GET", "/events?user=bob"))[0] == 403
    assert (await world.json("GET", "/events?user=*"))[0] == 403


RULE = {"subject": "user:bob", "mount_path": "/data", "kind": "host_path", "source": "/srv/secret-place"}
ENVIRONMENT = {"image": "registry.example/secret:1", "variables": {"TOKEN": "x"}, "subjects": ["user:bob"]}


@pytest.mark.parametrize("resume", [{"query": "?after=0"}, {"last": "0"}, {"query": "?after=0", "last": "1"}])
async def test_what_only_admins_may_ask_for_only_admins_are_told(world, resume) -> None:
    await world.json("PUT", "/mounts/m", "admin", json=RULE)
    await world.json("PUT", "/environments/e", "admin", json=ENVIRONMENT)
    await world.json("DELETE", "/environments/e", "admin")
    await world.json("DELETE", "/mounts/m", "admin")
    async with world.store.write() as tx:
        await tx.events.add(
            HistoryEvent(at=world.latest_plan.last_tick, kind="new.kind", actor="x", data={"secret": 1})
        )
    await world.json("POST", "/cluster/pause", "admin", json={})
    await world.json("PUT", "/policy", "admin", json={"set": {"slice": "1h"}})
    await world.submit("mine")
    async with feed(world, who="reader", **resume) as messages:
        heard = await first(messages, 4)
    assert [kind for kind, _, _ in heard] == ["hello", "cluster.paused", "policy.changed", "task.submitted"]
    assert "secret" not in str(heard)
    async with feed(world, "?after=0&user=*", "admin") as messages:
        kinds = [kind for kind, _, _ in await first(messages, 9)]
    assert kinds[1:6] == ["mount.put", "environment.put", "environment.deleted", "mount.deleted", "new.kind"]


async def test_the_history_and_decisions_of_a_task_hold_its_own_events_alone(world) -> None:
    await world.submit("secret", user="bob")
    mine = await world.submit("mine")
    await world.json("PUT", "/mounts/m", "admin", json=RULE)
    for part in ("events", "decisions"):
        status, page = await world.json("GET", f"/tasks/mine/{part}?after=0", "reader")
        assert status == 200
        assert "bob" not in str(page)
        assert "secret" not in str(page)
    events = (await world.json("GET", "/tasks/mine/events", "reader"))[1]["items"]
    assert {event["task_id"] for event in events} == {mine.id}


def test_what_all_users_are_told_is_a_short_list() -> None:
    assert {"node.mark", "cluster.paused", "cluster.resumed", "policy.changed"} == FOR_EVERYBODY


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
