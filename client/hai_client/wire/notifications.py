"""Notifications and rules of users, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRule:
    """Over which channels a kind of notification is told."""

    kind: str  #: One of started, resumed, interrupted, ended, failed, waiting, gpus_idle, environment_built, test.
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationChannel:
    """A channel, as the caller may use it."""

    name: str  #: `lab`, `browser`, `mail`, `webhook`, or `sink:` and the name of a sink.
    missing: str | None = None  #: Why it cannot be used now, and what to do; None: it can.
    #: Why the newest message with trouble was not delivered at once; None: there was none in the last seven days.
    error: str | None = None
    error_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRules:
    """What the caller is told, and where."""

    rules: tuple[NotificationRule, ...]  #: All kinds, in the order in which they are shown.
    waits_longer_s: float
    mail: str | None = None
    webhook: str | None = None
    #: The key of the webhook's signatures, in the answer that has made it; else None.
    webhook_secret: str | None = None
    channels: tuple[NotificationChannel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What came of a notification over one channel."""

    channel: str  #: `feed` is JupyterLab and the browser.
    state: str  #: One of pending, sent, given_up.
    attempts: int
    ended_at: datetime | None = None  #: When it was sent or given up; None: neither yet.
    error: str | None = None  #: Why the newest attempt failed; None: it did not.
    digest: bool  #: Whether it was sent together with others.


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """What a user was told."""

    id: int
    kind: str  #: One of started, resumed, interrupted, ended, failed, waiting, gpus_idle, environment_built, test.
    at: datetime
    task_id: int | None = None
    sentence: str  #: The id of the sentence, with its parameters: what `text` says, for programs.
    params: dict[str, Any]
    text: str  #: The sentence.
    lines: tuple[str, ...]  #: The last lines of a failed task.
    read: bool
    deliveries: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationPage:
    """What a user was told, the newest first."""

    items: tuple[Notification, ...]
    unread: int  #: How many notifications of the user are not read, on all pages.
    next_before: int | None = None  #: `before` of the next page; None: this is the last one.
