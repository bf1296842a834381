"""Notifications, deliveries and rules in every store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.notifying.values import (
    FEED,
    MAIL,
    Delivery,
    DeliveryState,
    Notification,
    NotificationKind,
    NotificationRules,
    deliveries_of,
)
from hai_scheduler.store.store import Store
from kit.builders import T0, at

HOUR = timedelta(hours=1)


def told(user: str = "alice", **fields: Any) -> Notification:
    """A task of the user has failed, at `T0`."""
    known: dict[str, Any] = {
        "kind": NotificationKind.FAILED,
        "at": T0,
        "key": "1:task.failed:2",
        "task_id": TaskId(1),
        "sentence": "task.failed",
        "params": {"task": 1, "name": "train", "exit_codes": [1], "reason": None},
        "channels": frozenset({"lab", "mail"}),
    }
    return Notification(user=user, **{**known, **fields})


async def routed(store: Store, *notifications: Notification) -> list[Delivery]:
    """Store the notifications and route them at `T0`; returns all pending deliveries."""
    async with store.write() as tx:
        for one in notifications:
            added = await tx.notifications.add(one)
            await tx.notifications.route(replace(added, routed=True), deliveries_of(added, T0))
    return await due(store)


async def due(store: Store, seconds: float = 0) -> list[Delivery]:
    async with store.read() as tx:
        return [delivery for delivery, _ in await tx.notifications.due(at(seconds), 100)]


async def of_user(store: Store, user: str = "alice", **asked: Any) -> Sequence[tuple[Notification, Sequence[Delivery]]]:
    async with store.read() as tx:
        return await tx.notifications.of_user(user, **{"before": None, "limit": 100, "unread": False, **asked})


async def test_rules_come_back_whole_and_are_replaced(store: Store) -> None:
    plain = NotificationRules(user="bob")
    whole = NotificationRules(
        user="älice",
        channels={NotificationKind.FAILED: frozenset({"lab", "sink:ops"}), NotificationKind.ENDED: frozenset()},
        waits_longer=timedelta(minutes=7.5),
        mail="a@example.org",
        webhook="https://example.org/x",
        webhook_secret="whsec_AAAA",
    )
    async with store.write() as tx:
        assert await tx.notifications.rules() == {}
        await tx.notifications.put_rules(plain)
        await tx.notifications.put_rules(replace(whole, mail=None))
        assert (await tx.notifications.rules())["bob"] == plain
    async with store.write() as tx:
        await tx.notifications.put_rules(whole)
    async with store.read() as tx:
        assert await tx.notifications.rules() == {"bob": plain, "älice": whole}
    assert "whsec_AAAA" not in repr(whole)


async def test_what_is_written_waits_until_it_is_routed_once(store: Store) -> None:
    first, second = told(), told(key="other", kind=NotificationKind.TEST, task_id=None, params={})
    async with store.write() as tx:
        await tx.notifications.add_all([first, second])
    async with store.read() as tx:
        found = await tx.notifications.unrouted(10)
        assert [replace(one, id=0) for one in found] == [first, second]
        assert 0 < found[0].id < found[1].id
        assert [one.id for one in await tx.notifications.unrouted(1)] == [found[0].id]
        assert await tx.notifications.told(["other", "no such key"]) == {"other"}
        assert await tx.notifications.told([]) == frozenset()
        assert await tx.notifications.due(T0, 10) == []
    changed = replace(found[0], routed=True, lines=("Traceback", "ValueError: ä"), channels=frozenset({"lab"}))
    async with store.write() as tx:
        await tx.notifications.route(changed, deliveries_of(found[0], T0))
    async with store.read() as tx:
        assert await tx.notifications.unrouted(10) == [found[1]]
        assert await tx.notifications.due(at(-1), 10) == []
        pending = await tx.notifications.due(T0, 10)
    assert [(one.channel, one.state, one.next_at) for one, _ in pending] == [
        (FEED, DeliveryState.PENDING, T0), (MAIL, DeliveryState.PENDING, T0),
    ]  # fmt: skip
    assert [notification for _, notification in pending] == [changed, changed]


async def test_deliveries_are_saved_and_what_is_sent_is_due_no_more(store: Store) -> None:
    feed, mail = await routed(store, told())
    later = replace(mail, next_at=at(60), attempts=3, error="no answer", digest=feed.id)
    async with store.write() as tx:
        await tx.notifications.save([replace(feed, state=DeliveryState.SENT, ended_at=at(1)), later])
    assert await due(store, 59) == []
    assert await due(store, 60) == [later]


async def test_a_digest_counts_as_one_message(store: Store) -> None:
    pending = await routed(store, *(told(key=str(n), channels=frozenset({"mail"})) for n in range(4)))
    first, *rest = (replace(one, state=DeliveryState.SENT, ended_at=at(5)) for one in pending)
    async with store.write() as tx:
        await tx.notifications.save([first, *(replace(one, digest=rest[0].id) for one in rest)])
    async with store.read() as tx:
        assert await tx.notifications.sent_since(T0) == {("alice", MAIL): [at(5), at(5)]}
        assert await tx.notifications.sent_since(at(5)) == {}


async def test_users_read_their_own_the_newest_first(store: Store) -> None:
    await routed(store, told(key="1"), told("bob"), told(key="2"), told(key="3"))
    found = await of_user(store)
    assert [one.key for one, _ in found] == ["3", "2", "1"]
    assert [delivery.channel for delivery in found[0][1]] == [FEED, MAIL]
    second = found[1][0].id
    assert [one.key for one, _ in await of_user(store, before=second)] == ["1"]
    assert len(await of_user(store, limit=2)) == 2
    async with store.write() as tx:
        assert await tx.notifications.unread("alice") == 3
        assert await tx.notifications.mark_read("alice", second) == 2
        assert await tx.notifications.mark_read("alice", second) == 0
        assert await tx.notifications.unread("alice") == 1
        assert await tx.notifications.unread("bob") == 1
    assert [one.key for one, _ in await of_user(store, unread=True)] == ["3"]
    assert [one.read for one, _ in await of_user(store)] == [False, True, True]


async def test_the_newest_trouble_of_each_channel_is_told(store: Store) -> None:
    pending = await routed(store, told(key="1"), told(key="2"))
    mails = [one for one in pending if one.channel == MAIL]
    async with store.write() as tx:
        await tx.notifications.save(replace(one, error=f"no {one.id}") for one in mails)
        assert await tx.notifications.troubles("bob") == []
        assert await tx.notifications.troubles("alice") == [replace(mails[1], error=f"no {mails[1].id}")]


async def test_old_ones_go_with_their_deliveries_and_ids_are_not_given_again(store: Store) -> None:
    await routed(store, told(key="1"), told(key="2"), told(key="3", at=at(hours=2)))
    async with store.write() as tx:
        assert await tx.notifications.drop_before(at(hours=1), 1) == 1
        assert await tx.notifications.drop_before(at(hours=1), 10) == 1
        assert await tx.notifications.drop_before(at(hours=1), 10) == 0
    (kept,) = await of_user(store)
    assert kept[0].key == "3"
    assert len(await due(store)) == 2
    async with store.write() as tx:
        assert await tx.notifications.drop_before(at(hours=9), 10) == 1
        assert (await tx.notifications.add(told())).id > kept[0].id
        assert await tx.notifications.due(at(hours=9), 10) == []
        # A delivery that was deleted meanwhile stays deleted.
        await tx.notifications.save(kept[1])
        assert await tx.notifications.due(at(hours=9), 10) == []


async def test_a_view_writes_nothing(store: Store) -> None:
    async with store.read() as tx:
        with pytest.raises(RuntimeError):
            await tx.notifications.add(told())
        with pytest.raises(RuntimeError):
            await tx.notifications.put_rules(NotificationRules(user="alice"))
