"""Converts rows of notifications, deliveries and rules into values and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from sqlalchemy import Row

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.notifying.values import (
    Delivery,
    DeliveryState,
    Notification,
    NotificationKind,
    NotificationRules,
)
from hai_scheduler.store.rows import of_instant, of_instant_or_none, to_instant, to_instant_or_none


def rules_values(rules: NotificationRules) -> dict[str, Any]:
    """Return all columns of the rules of a user."""
    data = {
        "channels": {kind.value: sorted(channels) for kind, channels in rules.channels.items()},
        "waits_longer_s": rules.waits_longer.total_seconds(),
        "mail": rules.mail,
        "webhook": rules.webhook,
        "webhook_secret": rules.webhook_secret,
    }
    return {"user_name": rules.user, "data": data}


def rules_of(row: Row[Any]) -> NotificationRules:
    """Return the rules of a row of `NOTIFICATION_RULES`; kinds of other versions are left out."""
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


def notification_values(one: Notification) -> dict[str, Any]:
    """Return the columns of a notification without its id, which the store gives."""
    return {
        "user_name": one.user,
        "kind": one.kind.value,
        "at": to_instant(one.at),
        "key": one.key,
        "task_id": one.task_id,
        "data": {
            "sentence": one.sentence,
            "params": dict(one.params),
            "channels": sorted(one.channels),
            "lines": list(one.lines),
        },
        "routed": one.routed,
        "seen": one.read,
    }


def notification_of(row: Row[Any] | Mapping[str, Any]) -> Notification:
    """Return the notification of a row of `NOTIFICATIONS`."""
    found = row if isinstance(row, Mapping) else row._mapping
    data = found["data"]
    return Notification(
        id=found["id"],
        user=found["user_name"],
        kind=NotificationKind(found["kind"]),
        at=of_instant(found["at"]),
        key=found["key"],
        task_id=None if found["task_id"] is None else TaskId(found["task_id"]),
        sentence=data["sentence"],
        params=data["params"],
        channels=frozenset(data["channels"]),
        lines=tuple(data["lines"]),
        routed=found["routed"],
        read=found["seen"],
    )


def delivery_values(one: Delivery) -> dict[str, Any]:
    """Return the columns of a delivery without its id, which the store gives."""
    return {
        "notification": one.notification,
        "user_name": one.user,
        "channel": one.channel,
        "at": to_instant(one.at),
        "next_at": to_instant(one.next_at),
        "attempts": one.attempts,
        "state": one.state.value,
        "ended_at": to_instant_or_none(one.ended_at),
        "error": one.error,
        "digest": one.digest,
    }


def delivery_of(row: Row[Any]) -> Delivery:
    """Return the delivery of a row of `DELIVERIES`."""
    return Delivery(
        id=row.id,
        notification=row.notification,
        user=row.user_name,
        channel=row.channel,
        at=of_instant(row.at),
        next_at=of_instant(row.next_at),
        attempts=row.attempts,
        state=DeliveryState(row.state),
        ended_at=of_instant_or_none(row.ended_at),
        error=row.error,
        digest=row.digest,
    )
