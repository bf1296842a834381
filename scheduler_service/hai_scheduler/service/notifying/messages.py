"""What deliveries say: the event of the feed, and the message for mail, webhooks and sinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.notifying.values import ON_SCREEN, Delivery, Notification
from hai_scheduler.ports.messengers import OutgoingMessage
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import ENGLISH, Language
from hai_scheduler.sentences.notifications import digest_lines, digest_of, text_of, told
from hai_scheduler.service.shared.changes import SCHEDULER

#: Notifications of a digest that programs are told one by one.
MOST_TOLD: Final = 100


def facts_of(notification: Notification) -> dict[str, Any]:
    """Return a notification for programs, as JSON."""
    return {
        "id": notification.id,
        "kind": notification.kind.value,
        "at": notification.at.isoformat(),
        "task_id": notification.task_id,
        "sentence": notification.sentence,
        "params": dict(notification.params),
        "text": text_of(ENGLISH, notification),
        "lines": list(notification.lines),
    }


def event_of(notifications: Sequence[Notification], now: datetime) -> HistoryEvent:
    """Return the event of the feed for one notification, or for those of a digest."""
    first = notifications[0]
    channels = sorted(ON_SCREEN & frozenset[str]().union(*(one.channels for one in notifications)))
    data: dict[str, Any] = {**_data(notifications), "channels": channels}
    task_id = first.task_id if len(notifications) == 1 else None
    return HistoryEvent(
        at=now, kind=EventKind.NOTIFICATION, actor=SCHEDULER, user=first.user, task_id=task_id, data=data
    )


def message_of(sent: Sequence[tuple[Delivery, Notification]], mark: Mark) -> OutgoingMessage:
    """Return the message for one delivery, or for those of a digest.

    Args:
        sent: The deliveries of the message, with what they tell.
        mark: The mark of the database: ids of messages of another one, or of before a restore, are others.
    """
    delivery, first = sent[0]
    notifications = [notification for _, notification in sent]
    if len(sent) == 1:
        subject, lines = text_of(ENGLISH, first), first.lines
    else:
        subject, lines = _digest(notifications), digest_lines(ENGLISH, notifications)
    number = f"{mark.database}-{mark.epoch}-{delivery.message}"
    kind = "hai.notification" if len(sent) == 1 else "hai.digest"
    at = max(one.at for one in notifications)
    return OutgoingMessage(
        id=f"hai-{number}",
        user=delivery.user,
        at=at,
        subject=subject,
        lines=lines,
        payload={"type": kind, "timestamp": at.isoformat(), "data": {"user": delivery.user, **_data(notifications)}},
    )


def _data(notifications: Sequence[Notification]) -> Mapping[str, Any]:
    if len(notifications) == 1:
        return facts_of(notifications[0])
    return {
        "kind": "digest",
        "count": len(notifications),
        "text": _digest(notifications),
        "notifications": [{**facts_of(one), "lines": []} for one in notifications[:MOST_TOLD]],
    }


def _digest(notifications: Sequence[Notification]) -> str:
    return digest_of(ENGLISH, len(notifications), [one.kind for one in notifications])


def in_words_of(say: Language, event: HistoryEvent) -> HistoryEvent:
    """Return the event of the feed with its text in a language; the store keeps it in English."""
    if event.kind != EventKind.NOTIFICATION or say is ENGLISH:
        return event
    data = event.data
    if data.get("kind") == "digest":
        text = digest_of(say, data["count"], [one["kind"] for one in data["notifications"]])
    else:
        text = told(say, data["sentence"], data["params"])
    return replace(event, data={**data, "text": text})
