"""Notifications, their deliveries and the rules of users, in a transaction on a database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Row, bindparam, delete, func, insert, select, update

from hai_scheduler.core.notifying.values import (
    Delivery,
    DeliveryState,
    Notification,
    NotificationKind,
    NotificationRules,
)
from hai_scheduler.store.codec import of_instant, to_instant
from hai_scheduler.store.notification_tables import DELIVERIES, NOTIFICATION_RULES, NOTIFICATIONS
from hai_scheduler.store.rows import DELIVERY, NOTIFICATION
from hai_scheduler.store.small_tables import StoredPart

# Made once: to build a statement costs as much as to execute it.
_RULES: Final = select(NOTIFICATION_RULES)
_ADD: Final = insert(NOTIFICATIONS)
_ADD_DELIVERY: Final = insert(DELIVERIES)
_SAVE: Final = (
    update(DELIVERIES)
    .where(DELIVERIES.c.id == bindparam("number"))
    .values({column.name: bindparam(column.name) for column in DELIVERIES.columns if column.name != "id"})
)
_PENDING: Final = DELIVERIES.c.state == DeliveryState.PENDING.value
#: Keys that one statement asks for: SQLite takes a limited number of parameters.
_AT_ONCE: Final = 500


class StoredNotifications(StoredPart):
    """The outbox: what users are told, and over which channels it was sent.

    A notification is written in the transaction of what it tells of. Its deliveries are written when it is routed,
    once. Ids grow, and none is given twice.
    """

    async def rules(self) -> Mapping[str, NotificationRules]:
        """The rules of all users who have written some, by user."""
        return await self._tables.rows("notification_rules", self._read_rules)

    async def put_rules(self, rules: NotificationRules) -> None:
        """Write the whole rules of their user."""
        await self._tables.changes("notification_rules")
        self._sql.put(NOTIFICATION_RULES, _rules_values(rules))

    async def add_all(self, notifications: Iterable[Notification]) -> None:
        """Write notifications that are not routed yet; each is given an id."""
        self._sql.change_later(_ADD, [NOTIFICATION.values(one) for one in notifications])

    async def add(self, notification: Notification) -> Notification:
        """Write one, and return it with its id."""
        done = await self._sql.change(_ADD, NOTIFICATION.values(notification))
        (number,) = done.inserted_primary_key or (0,)
        return replace(notification, id=int(number))

    async def told(self, keys: Iterable[str]) -> frozenset[str]:
        """Those of these keys that a stored notification has."""
        wanted, found = sorted(set(keys)), set[str]()
        for begin in range(0, len(wanted), _AT_ONCE):
            some = NOTIFICATIONS.c.key.in_(wanted[begin : begin + _AT_ONCE])
            found.update((await self._sql.ask(select(NOTIFICATIONS.c.key).where(some))).scalars())
        return frozenset(found)

    async def unrouted(self, limit: int) -> Sequence[Notification]:
        """At most `limit` notifications that are not routed, the oldest first."""
        waiting = select(NOTIFICATIONS).where(NOTIFICATIONS.c.routed.is_(False))
        return [NOTIFICATION.of(row) for row in await self._sql.ask(waiting.order_by(NOTIFICATIONS.c.id).limit(limit))]

    async def route(self, notification: Notification, deliveries: Iterable[Delivery]) -> None:
        """Write a notification again, and its deliveries, which are given ids."""
        changed = update(NOTIFICATIONS).where(NOTIFICATIONS.c.id == notification.id)
        done = await self._sql.change(changed.values(NOTIFICATION.values(notification)))
        if done.rowcount:
            self._sql.change_later(_ADD_DELIVERY, [DELIVERY.values(one) for one in deliveries])

    async def due(self, now: datetime, limit: int) -> Sequence[tuple[Delivery, Notification]]:
        """At most `limit` pending deliveries whose time has come, with what they tell, by id."""
        due = select(DELIVERIES).where(_PENDING, DELIVERIES.c.next_at <= to_instant(now))
        rows = await self._sql.ask(due.order_by(DELIVERIES.c.id).limit(limit))
        deliveries = [DELIVERY.of(row) for row in rows]
        told = await self._by_id({one.notification for one in deliveries})
        return [(one, told[one.notification]) for one in deliveries]

    async def save(self, deliveries: Iterable[Delivery]) -> None:
        """Write deliveries that are stored already; one that was deleted meanwhile stays deleted."""
        self._sql.change_later(_SAVE, [DELIVERY.values(one, number=one.id) for one in deliveries])

    async def sent_since(self, when: datetime) -> Mapping[tuple[str, str], Sequence[datetime]]:
        """When messages were sent after `when`, by user and channel; a digest is one message."""
        message = func.coalesce(DELIVERIES.c.digest, DELIVERIES.c.id)
        asked = (
            select(DELIVERIES.c.user_name, DELIVERIES.c.channel, func.max(DELIVERIES.c.ended_at).label("sent"))
            .where(DELIVERIES.c.state == DeliveryState.SENT.value, DELIVERIES.c.ended_at > to_instant(when))
            .group_by(DELIVERIES.c.user_name, DELIVERIES.c.channel, message)
        )
        found: defaultdict[tuple[str, str], list[datetime]] = defaultdict(list)
        for row in await self._sql.ask(asked):
            found[row.user_name, row.channel].append(of_instant(row.sent))
        return {key: sorted(times) for key, times in found.items()}

    async def of_user(
        self, user: str, *, before: int | None, limit: int, unread: bool
    ) -> Sequence[tuple[Notification, Sequence[Delivery]]]:
        """At most `limit` notifications of a user with their deliveries, the newest first.

        Args:
            user: The user.
            before: Only those with a smaller id; None: all.
            limit: How many at most.
            unread: Only those that are not read.
        """
        own = select(NOTIFICATIONS).where(NOTIFICATIONS.c.user_name == user)
        if before is not None:
            own = own.where(NOTIFICATIONS.c.id < before)
        if unread:
            own = own.where(NOTIFICATIONS.c.seen.is_(False))
        rows = await self._sql.ask(own.order_by(NOTIFICATIONS.c.id.desc()).limit(limit))
        notifications = [NOTIFICATION.of(row) for row in rows]
        sent: defaultdict[int, list[Delivery]] = defaultdict(list)
        theirs = DELIVERIES.c.notification.in_([one.id for one in notifications])
        for row in await self._sql.ask(select(DELIVERIES).where(theirs).order_by(DELIVERIES.c.id)):
            sent[row.notification].append(DELIVERY.of(row))
        return [(one, sent[one.id]) for one in notifications]

    async def unread(self, user: str) -> int:
        """How many notifications of a user are not read."""
        unseen = select(func.count()).where(NOTIFICATIONS.c.user_name == user, NOTIFICATIONS.c.seen.is_(False))
        return int((await self._sql.ask(unseen)).scalar_one())

    async def mark_read(self, user: str, up_to: int) -> int:
        """Mark those notifications of a user as read whose ids are `up_to` or smaller; returns how many."""
        own = update(NOTIFICATIONS).where(NOTIFICATIONS.c.user_name == user, NOTIFICATIONS.c.id <= up_to)
        return (await self._sql.change(own.where(NOTIFICATIONS.c.seen.is_(False)).values(seen=True))).rowcount

    async def troubles(self, user: str) -> Sequence[Delivery]:
        """The newest delivery over each channel of a user that has an error and was not sent."""
        newest = select(func.max(DELIVERIES.c.id)).where(
            DELIVERIES.c.user_name == user, DELIVERIES.c.error.is_not(None)
        )
        found = select(DELIVERIES).where(DELIVERIES.c.id.in_(newest.group_by(DELIVERIES.c.channel)))
        rows = [DELIVERY.of(row) for row in await self._sql.ask(found)]
        return sorted(rows, key=lambda one: one.channel)

    async def drop_before(self, when: datetime, limit: int) -> int:
        """Delete at most `limit` notifications from before `when`, with their deliveries; returns how many.

        The database deletes the deliveries with them.
        """
        old = select(NOTIFICATIONS.c.id).where(NOTIFICATIONS.c.at < to_instant(when))
        old = old.order_by(NOTIFICATIONS.c.id).limit(limit)
        return (await self._sql.change(delete(NOTIFICATIONS).where(NOTIFICATIONS.c.id.in_(old)))).rowcount

    async def _read_rules(self) -> Mapping[str, NotificationRules]:
        return {row.user_name: _rules_of(row) for row in await self._sql.ask(_RULES)}

    async def _by_id(self, numbers: Iterable[int]) -> dict[int, Notification]:
        wanted, found = sorted(numbers), dict[int, Notification]()
        for begin in range(0, len(wanted), _AT_ONCE):
            some = select(NOTIFICATIONS).where(NOTIFICATIONS.c.id.in_(wanted[begin : begin + _AT_ONCE]))
            found.update((row.id, NOTIFICATION.of(row)) for row in await self._sql.ask(some))
        return found


def _rules_values(rules: NotificationRules) -> dict[str, Any]:
    data = {
        "channels": {kind.value: sorted(channels) for kind, channels in rules.channels.items()},
        "waits_longer_s": rules.waits_longer.total_seconds(),
        "mail": rules.mail,
        "webhook": rules.webhook,
        "webhook_secret": rules.webhook_secret,
    }
    return {"user_name": rules.user, "data": data}


def _rules_of(row: Row[Any]) -> NotificationRules:
    """Return the rules of a row; kinds of other versions are left out."""
    data = row.data
    known = set(NotificationKind)
    channels = {NotificationKind(kind): frozenset(some) for kind, some in data["channels"].items() if kind in known}
    return NotificationRules(
        user=row.user_name,
        channels=MappingProxyType(channels),
        waits_longer=timedelta(seconds=data["waits_longer_s"]),
        mail=data["mail"],
        webhook=data["webhook"],
        webhook_secret=data["webhook_secret"],
    )
