"""The feed over HTTP: in order, each once, resumable, and only what one may see."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.insight.feed import FOR_EVERYBODY


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
    kinds = {"node.mark", "node.condition", "cluster.paused", "cluster.resumed", "policy.changed"}
    assert kinds == FOR_EVERYBODY
