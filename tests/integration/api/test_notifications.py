"""Rules and notifications over HTTP: one's own alone, with remedies for what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.notifying.values import Notification, NotificationKind, deliveries_of
from hai_scheduler.service.notifying.messages import event_of
from kit.builders import T0

HOOK = "https://127.0.0.1:8443/hai"


def told(user: str = "alice", **fields: object) -> Notification:
    known = {
        "kind": NotificationKind.FAILED, "at": T0, "key": "k", "task_id": 7, "sentence": "task.failed",
        "params": {"task": 7, "name": "train", "reason": "failed", "exit_codes": [1]}, "lines": ("ValueError",),
        "channels": frozenset({"lab", "mail"}),
    }  # fmt: skip
    return Notification(user=user, **{**known, **fields})  # type: ignore[arg-type]


async def stored(world, *notifications: Notification) -> None:
    async with world.store.write() as tx:
        for one in notifications:
            added = await tx.notifications.add(one)
            await tx.notifications.route(replace(added, routed=True), deliveries_of(added, T0))


async def test_a_user_reads_and_writes_their_rules(world) -> None:
    status, shown = await world.json("GET", "/me/notifications")
    assert status == 200
    by_kind = {rule["kind"]: rule["channels"] for rule in shown["rules"]}
    assert by_kind["failed"] == ["browser", "lab"]
    assert by_kind["started"] == []
    assert shown["channels"][2] == {
        "name": "mail", "missing": "Give a mail address.", "error": None, "error_at": None,
    }  # fmt: skip
    body = {
        "rules": [{"kind": "failed", "channels": ["mail", "webhook"]}], "waits_longer_s": 600,
        "mail": "alice@example.org", "webhook": HOOK,
    }  # fmt: skip
    status, after = await world.json("PUT", "/me/notifications", json=body)
    assert (status, after["webhook_secret"][:6]) == (200, "whsec_")
    assert {rule["kind"]: rule["channels"] for rule in after["rules"]}["failed"] == ["mail", "webhook"]
    again = (await world.json("GET", "/me/notifications"))[1]
    assert again == {**after, "webhook_secret": None}
    assert (await world.json("GET", "/me/notifications", "bob"))[1]["mail"] is None


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"rules": [{"kind": "exploded", "channels": ["lab"]}]}, "rules", "choose among started, resumed"),
        ({"rules": [{"kind": "failed", "channels": ["pager"]}]}, "rules.failed", "choose among lab, browser, mail"),
        ({"rules": [{"kind": "failed", "channels": ["sink:ops"]}]}, "rules.failed", "is no channel here"),
        ({"rules": [{"kind": "failed", "channels": ["mail"]}]}, "mail", "give an address"),
        ({"rules": [{"kind": "failed", "channels": ["lab"], "user": "bob"}]}, "rules[0].user", ""),
        ({"user": "bob"}, "user", ""),
        ({"mail": "Bob <bob@example.org>"}, "mail", "write for example ann@example.org"),
        ({"mail": "a@example.org\r\nBcc: b@example.org"}, "mail", "is no mail address"),
        ({"webhook": "http://example.org/x"}, "webhook", "must begin with https://"),
        ({"webhook": "https://10.0.0.1/x"}, "webhook", "which is not on the open Internet"),
        ({"webhook": "https://169.254.169.254/latest/meta-data"}, "webhook", "which is not on the open Internet"),
        ({"webhook": "https://[::1]/x"}, "webhook", "which is not on the open Internet"),
        ({"webhook": "https://no-such-host.invalid/x"}, "webhook", "check how it is written"),
        ({"webhook": "https://a:b@127.0.0.1/x"}, "webhook", "leave it out"),
        ({"waits_longer_s": 5}, "waits_longer_s", "60"),
        ({"new_secret": True}, "new_secret", "there is no webhook"),
    ],
)
async def test_wrong_rules_are_refused_with_their_field_and_the_remedy(world, body, field, said) -> None:
    status, problem = await world.json("PUT", "/me/notifications", json=body)
    assert (status, problem["errors"][0]["field"]) == (400, field), problem
    assert said in problem["detail"]


async def test_who_may_only_read_changes_nothing(world) -> None:
    for method, path, body in (
        ("PUT", "/me/notifications", {}),
        ("POST", "/me/notifications/test", {}),
        ("POST", "/notifications/read", {"up_to": 5}),
    ):
        assert (await world.json(method, path, "reader", json=body))[0] == 403, path
    assert (await world.json("GET", "/notifications/sinks"))[0] == 403
    assert (await world.json("GET", "/notifications/sinks", "admin"))[1] == {"mail": True, "sinks": []}


async def test_users_list_and_mark_their_own_alone(world) -> None:
    await stored(world, told(key="1"), told("bob"), told(key="2"), told(key="3"))
    status, page = await world.json("GET", "/notifications?limit=2")
    assert (status, page["unread"], len(page["items"])) == (200, 3, 2)
    newest = page["items"][0]
    assert newest["text"] == "Task 7 (train) has failed: its command failed (status 1)."
    assert (newest["kind"], newest["lines"], newest["read"]) == ("failed", ["ValueError"], False)
    assert [(one["channel"], one["state"]) for one in newest["deliveries"]] == [
        ("feed", "pending"),
        ("mail", "pending"),
    ]
    rest = (await world.json("GET", f"/notifications?before={page['next_before']}"))[1]
    assert (len(rest["items"]), rest["next_before"]) == (1, None)
    assert (await world.json("GET", "/notifications", "admin"))[1]["items"] == []
    marked = (await world.json("POST", "/notifications/read", json={"up_to": newest["id"]}))[1]
    assert marked == {"marked": 3}
    assert (await world.json("GET", "/notifications?unread=true"))[1] == {"items": [], "unread": 0, "next_before": None}
    assert (await world.json("GET", "/notifications", "bob"))[1]["unread"] == 1


async def test_a_test_is_written_for_the_loop(world) -> None:
    status, test = await world.json("POST", "/me/notifications/test", json={})
    assert (status, test["kind"], test["deliveries"]) == (202, "test", [])
    async with world.store.read() as tx:
        (one,) = await tx.notifications.unrouted(5)
    assert (one.id, one.user, one.channels) == (test["id"], "alice", {"lab", "browser"})
    status, problem = await world.json("POST", "/me/notifications/test", json={"channels": ["webhook"]})
    assert (status, problem["errors"][0]["field"]) == (400, "webhook")


async def test_the_feed_shows_notifications_to_their_user_alone(world) -> None:
    async with world.store.write() as tx:
        await tx.events.add(event_of([told("bob")], T0))
        await tx.events.add(event_of([told("alice", id=5)], T0))
    async with world.stream("/events?after=0") as messages:
        assert (await anext(messages))[0] == "hello"
        kind, _, event = await anext(messages)
        assert (kind, event["user"]) == (EventKind.NOTIFICATION, "alice")
        assert (event["data"]["id"], event["data"]["kind"], event["data"]["channels"]) == (5, "failed", ["lab"])
        assert event["data"]["sentence"] == "task.failed"
    async with world.store.write() as tx:
        await tx.events.add(event_of([told("bob", kind=NotificationKind.STARTED)], T0))
        await tx.events.add(event_of([told("root", id=9)], T0))
    async with world.stream("/events?after=0&user=*", "admin") as messages:
        assert (await anext(messages))[0] == "hello"
        assert (await anext(messages))[2]["data"]["id"] == 9, "an admin is not told what others are told"
