"""Notifications and the rules of users, in a transaction of the memory store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hai_scheduler.core.notifying.values import Delivery, DeliveryState, Notification, NotificationRules
from kit.memory.draft import MemoryPart


class MemoryNotifications(MemoryPart):
    """See `ports.stored.notifications.StoredNotifications`."""

    async def rules(self) -> Mapping[str, NotificationRules]:
        """See `StoredNotifications.rules`."""
        return self._draft.seen().notification_rules

    async def put_rules(self, rules: NotificationRules) -> None:
        """See `StoredNotifications.put_rules`."""
        state = self._draft.writable()
        self._draft.state = replace(state, notification_rules={**state.notification_rules, rules.user: rules})

    async def add_all(self, notifications: Iterable[Notification]) -> None:
        """See `StoredNotifications.add_all`."""
        for one in notifications:
            await self.add(one)

    async def add(self, notification: Notification) -> Notification:
        """See `StoredNotifications.add`."""
        state = self._draft.writable()
        added = replace(notification, id=state.last_notification + 1)
        kept = {**state.notifications, added.id: added}
        self._draft.state = replace(state, last_notification=added.id, notifications=kept)
        return added

    async def told(self, keys: Iterable[str]) -> frozenset[str]:
        """See `StoredNotifications.told`."""
        return frozenset(keys) & {one.key for one in self._draft.seen().notifications.values()}

    async def unrouted(self, limit: int) -> Sequence[Notification]:
        """See `StoredNotifications.unrouted`."""
        found = sorted(self._draft.seen().notifications.items())
        return [one for _, one in found if not one.routed][:limit]

    async def route(self, notification: Notification, deliveries: Iterable[Delivery]) -> None:
        """See `StoredNotifications.route`."""
        state = self._draft.writable()
        if notification.id not in state.notifications:
            return
        last, kept = state.last_delivery, dict(state.deliveries)
        for one in deliveries:
            last += 1
            kept[last] = replace(one, id=last)
        notifications = {**state.notifications, notification.id: notification}
        self._draft.state = replace(state, notifications=notifications, deliveries=kept, last_delivery=last)

    async def due(self, now: datetime, limit: int) -> Sequence[tuple[Delivery, Notification]]:
        """See `StoredNotifications.due`."""
        state = self._draft.seen()
        due = [one for _, one in sorted(state.deliveries.items()) if _pending(one) and one.next_at <= now]
        return [(one, state.notifications[one.notification]) for one in due[:limit]]

    async def next_due(self) -> datetime | None:
        """See `StoredNotifications.next_due`."""
        return min((one.next_at for one in self._draft.seen().deliveries.values() if _pending(one)), default=None)

    async def save(self, deliveries: Iterable[Delivery]) -> None:
        """See `StoredNotifications.save`."""
        state = self._draft.writable()
        changed = {one.id: one for one in deliveries if one.id in state.deliveries}
        self._draft.state = replace(state, deliveries={**state.deliveries, **changed})

    async def sent_since(self, when: datetime) -> Mapping[tuple[str, str], Sequence[datetime]]:
        """See `StoredNotifications.sent_since`."""
        messages: dict[tuple[str, str, int], datetime] = {}
        for one in self._draft.seen().deliveries.values():
            if one.state is DeliveryState.SENT and one.ended_at is not None and one.ended_at > when:
                messages[one.user, one.channel, one.message] = one.ended_at
        found: defaultdict[tuple[str, str], list[datetime]] = defaultdict(list)
        for (user, channel, _), sent in messages.items():
            found[user, channel].append(sent)
        return {key: sorted(times) for key, times in found.items()}

    async def of_user(
        self, user: str, *, before: int | None, limit: int, unread: bool
    ) -> Sequence[tuple[Notification, Sequence[Delivery]]]:
        """See `StoredNotifications.of_user`."""
        state = self._draft.seen()
        own = [
            one
            for number, one in sorted(state.notifications.items(), reverse=True)
            if one.user == user and (before is None or number < before) and not (unread and one.read)
        ][:limit]
        by_id = sorted(state.deliveries.items())
        return [(one, [delivery for _, delivery in by_id if delivery.notification == one.id]) for one in own]

    async def unread(self, user: str) -> int:
        """See `StoredNotifications.unread`."""
        return sum(one.user == user and not one.read for one in self._draft.seen().notifications.values())

    async def mark_read(self, user: str, up_to: int) -> int:
        """See `StoredNotifications.mark_read`."""
        state = self._draft.writable()
        read = {
            number: replace(one, read=True)
            for number, one in state.notifications.items()
            if one.user == user and number <= up_to and not one.read
        }
        self._draft.state = replace(state, notifications={**state.notifications, **read})
        return len(read)

    async def troubles(self, user: str) -> Sequence[Delivery]:
        """See `StoredNotifications.troubles`."""
        newest: dict[str, Delivery] = {}
        for _, one in sorted(self._draft.seen().deliveries.items()):
            if one.user == user and one.error is not None:
                newest[one.channel] = one
        return [newest[channel] for channel in sorted(newest)]

    async def drop_before(self, when: datetime, limit: int) -> int:
        """See `StoredNotifications.drop_before`."""
        state = self._draft.writable()
        old = {number for number, one in sorted(state.notifications.items()) if one.at < when}
        old = set(sorted(old)[:limit])
        self._draft.state = replace(
            state,
            notifications={number: one for number, one in state.notifications.items() if number not in old},
            deliveries={number: one for number, one in state.deliveries.items() if one.notification not in old},
        )
        return len(old)


def _pending(delivery: Delivery) -> bool:
    return delivery.state is DeliveryState.PENDING
