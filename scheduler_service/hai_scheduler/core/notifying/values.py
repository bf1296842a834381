"""Notifications, the rules of users, and deliveries over channels: the values that the rest of HAI speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from hai_scheduler.core.model.ids import TaskId


class NotificationKind(StrEnum):
    """What a notification tells of; users have a rule for each but `TEST`."""

    #: The first run of a task is up.
    STARTED = "started"
    #: A later run of a task is up.
    RESUMED = "resumed"
    #: A run was told to leave, or it broke and its task goes on later.
    INTERRUPTED = "interrupted"
    #: A task has ended and did not fail.
    ENDED = "ended"
    FAILED = "failed"
    #: A task has waited for longer than its owner likes.
    WAITING = "waiting"
    #: GPUs of a running task have been idle for half an hour, or for an hour (I1).
    GPUS_IDLE = "gpus_idle"
    #: A build of an environment has succeeded.
    ENVIRONMENT_BUILT = "environment_built"
    #: A user tries their channels.
    TEST = "test"


#: The kinds that users have rules for, in the order in which they are shown.
RULED: Final = tuple(kind for kind in NotificationKind if kind is not NotificationKind.TEST)

#: The channels that every platform has: JupyterLab, and the browser while its tab is hidden.
LAB: Final = "lab"
BROWSER: Final = "browser"
MAIL: Final = "mail"
WEBHOOK: Final = "webhook"
#: Before the name of a sink that admins have set up.
SINK: Final = "sink:"
#: How deliveries name the stream of events, which serves `LAB` and `BROWSER`.
FEED: Final = "feed"
#: The channels that the stream of events serves.
ON_SCREEN: Final = frozenset({LAB, BROWSER})

#: How long a task waits before its owner is told, if they have not said otherwise.
WAITS_LONGER: Final = timedelta(hours=1)
#: After how long users are told of idle GPUs.
IDLE_AFTER: Final = (timedelta(minutes=30), timedelta(minutes=60))
#: The last lines of a failed task that are told, at most, and their characters together.
MOST_LINES: Final = 20
MOST_CHARACTERS: Final = 2000

_DEFAULT: Final[Mapping[NotificationKind, frozenset[str]]] = {
    NotificationKind.INTERRUPTED: ON_SCREEN,
    NotificationKind.ENDED: ON_SCREEN,
    NotificationKind.FAILED: ON_SCREEN,
    NotificationKind.GPUS_IDLE: ON_SCREEN,
    NotificationKind.ENVIRONMENT_BUILT: frozenset({LAB}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRules:
    """What a user is told, and where."""

    user: str
    #: The channels of each kind; a kind that is missing is told nowhere.
    channels: Mapping[NotificationKind, frozenset[str]] = field(default_factory=lambda: dict(_DEFAULT))
    #: How long a task waits before `WAITING` is told.
    waits_longer: timedelta = WAITS_LONGER
    mail: str | None = None
    webhook: str | None = None
    #: The key of the webhook's signatures, as `whsec_` with base64; no log shows it.
    webhook_secret: str | None = field(default=None, repr=False)

    def of(self, kind: NotificationKind) -> frozenset[str]:
        """Return the channels over which a kind is told."""
        return self.channels.get(kind, frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """What a user is told, once over each of its channels.

    `sentence` and `params` say the same as `text_of` does in English: clients write it in other languages.
    """

    #: Given by the store; 0: not stored yet.
    id: int = 0
    user: str
    kind: NotificationKind
    at: datetime
    #: What it tells of, as a text that no other notification of the same matter shares.
    key: str
    task_id: TaskId | None = None
    sentence: str
    #: JSON values only.
    params: Mapping[str, Any] = field(default_factory=dict)
    channels: frozenset[str]
    #: The last lines of a failed task; none before it was routed.
    lines: tuple[str, ...] = ()
    #: Whether its deliveries are there.
    routed: bool = False
    read: bool = False


class DeliveryState(StrEnum):
    """How far the delivery of a notification over a channel has come."""

    PENDING = "pending"
    SENT = "sent"
    #: It failed for a day, or can never succeed.
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One notification over one channel."""

    #: Given by the store; with the database's name it is what receivers know a message by.
    id: int = 0
    notification: int
    user: str
    #: `feed`, `mail`, `webhook` or `sink:NAME`.
    channel: str
    at: datetime
    #: Not sent before this time: it was tried before, it waits for a digest, or it is being sent now.
    next_at: datetime
    attempts: int = 0
    state: DeliveryState = DeliveryState.PENDING
    ended_at: datetime | None = None
    #: Why the latest attempt failed, in words for its user.
    error: str | None = None
    #: The first delivery of the digest that it is sent in; None: it is sent by itself.
    digest: int | None = None

    @property
    def message(self) -> int:
        """The number of the message in which it is sent: its own, or that of the digest."""
        return self.digest or self.id


def deliveries_of(notification: Notification, now: datetime) -> tuple[Delivery, ...]:
    """Return the deliveries of a notification that has just been routed."""
    channels = {FEED if channel in ON_SCREEN else channel for channel in notification.channels}
    return tuple(
        Delivery(notification=notification.id, user=notification.user, channel=channel, at=now, next_at=now)
        for channel in sorted(channels)
    )


def bounded(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the last of these lines, at most `MOST_LINES` with `MOST_CHARACTERS` together, without control codes."""
    kept: list[str] = []
    left = MOST_CHARACTERS
    for line in reversed(lines[-MOST_LINES:]):
        plain = "".join(one if one.isprintable() or one == "\t" else "�" for one in line)[:left]
        left -= len(plain)
        kept.append(plain)
        if left <= 0:
            break
    return tuple(reversed(kept))
