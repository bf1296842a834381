"""Notifications, their deliveries and the rules of users, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hai_scheduler.core.notifying.values import Delivery, Notification, NotificationRules


class StoredNotifications(Protocol):
    """The outbox: what users are told, and over which channels it was sent.

    A notification is written in the transaction of what it tells of. Its deliveries are written when it is routed,
    once. Ids grow, and none is given twice.
    """

    async def rules(self) -> Mapping[str, NotificationRules]:
        """The rules of all users who have written some, by user."""
        ...

    async def put_rules(self, rules: NotificationRules) -> None:
        """Write the whole rules of their user."""
        ...

    async def add_all(self, notifications: Iterable[Notification]) -> None:
        """Write notifications that are not routed yet; each is given an id."""
        ...

    async def add(self, notification: Notification) -> Notification:
        """Write one, and return it with its id."""
        ...

    async def told(self, keys: Iterable[str]) -> frozenset[str]:
        """Those of these keys that a stored notification has."""
        ...

    async def unrouted(self, limit: int) -> Sequence[Notification]:
        """At most `limit` notifications that are not routed, the oldest first."""
        ...

    async def route(self, notification: Notification, deliveries: Iterable[Delivery]) -> None:
        """Write a notification again, and its deliveries, which are given ids."""
        ...

    async def due(self, now: datetime, limit: int) -> Sequence[tuple[Delivery, Notification]]:
        """At most `limit` pending deliveries whose time has come, with what they tell, by id."""
        ...

    async def next_due(self) -> datetime | None:
        """When the next pending delivery is due; None: none is pending."""
        ...

    async def save(self, deliveries: Iterable[Delivery]) -> None:
        """Write deliveries that are stored already; one that was deleted meanwhile stays deleted."""
        ...

    async def sent_since(self, when: datetime) -> Mapping[tuple[str, str], Sequence[datetime]]:
        """When messages were sent after `when`, by user and channel; a digest is one message."""
        ...

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
        ...

    async def unread(self, user: str) -> int:
        """How many notifications of a user are not read."""
        ...

    async def mark_read(self, user: str, up_to: int) -> int:
        """Mark those notifications of a user as read whose ids are `up_to` or smaller; returns how many."""
        ...

    async def troubles(self, user: str) -> Sequence[Delivery]:
        """The newest delivery over each channel of a user that has an error and was not sent."""
        ...

    async def drop_before(self, when: datetime, limit: int) -> int:
        """Delete at most `limit` notifications from before `when`, with their deliveries; returns how many."""
        ...
