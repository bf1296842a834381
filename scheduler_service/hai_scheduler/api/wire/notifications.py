"""Models of notifications: the rules of users, and what they were told."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import MAX_NUMBER, Input, Length, Output

NotificationKindName = Literal[
    "started", "resumed", "interrupted", "ended", "failed", "waiting", "gpus_idle", "environment_built", "test"
]
DeliveryStateName = Literal["pending", "sent", "given_up"]

_Channel = Annotated[str, Field(min_length=1, max_length=80)]


class NotificationRuleIn(Input):
    """Over which channels a kind of notification is to be told."""

    kind: Annotated[str, Field(max_length=80)]
    #: `lab`, `browser`, `mail`, `webhook`, or `sink:` and the name of a sink; none: it is not told.
    channels: Annotated[list[_Channel], Field(max_length=50)]


class NotificationRulesPut(Input):
    """Write what the caller is told, and where."""

    #: Kinds that are left out stay as they are.
    rules: Annotated[list[NotificationRuleIn], Field(max_length=50)] = []
    #: How long a task waits before `waiting` is told, seconds; from a minute to 30 days.
    waits_longer_s: Annotated[float, Field(ge=60, le=2_592_000, allow_inf_nan=False)] = 3600
    #: The address that mail goes to; null: none.
    mail: Annotated[str, Field(min_length=1, max_length=254)] | None = None
    #: The address of the webhook, `https://...`; null: none.
    webhook: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    #: Whether the webhook gets a new key; the old one does not count any more.
    new_secret: bool = False


class NotificationRule(Output):
    """Over which channels a kind of notification is told."""

    kind: NotificationKindName
    channels: list[str]


class NotificationChannel(Output):
    """A channel, as the caller may use it."""

    #: `lab`, `browser`, `mail`, `webhook`, or `sink:` and the name of a sink.
    name: str
    #: Why it cannot be used now, and what to do; null: it can.
    missing: str | None
    #: Why the newest message with trouble was not delivered at once; null: there was none in the last seven days.
    error: str | None
    error_at: datetime | None


class NotificationRulesOut(Output):
    """What the caller is told, and where."""

    #: All kinds, in the order in which they are shown.
    rules: list[NotificationRule]
    waits_longer_s: Length
    mail: str | None
    webhook: str | None
    #: The key of the webhook's signatures, in the answer that has made it; else null.
    webhook_secret: str | None
    channels: list[NotificationChannel]


class NotificationTest(Input):
    """Ask for a test."""

    #: The channels; null: all that the caller can use.
    channels: Annotated[list[_Channel], Field(min_length=1, max_length=50)] | None = None


class DeliveryOut(Output):
    """What came of a notification over one channel."""

    #: `feed` is JupyterLab and the browser.
    channel: str
    state: DeliveryStateName
    attempts: int
    #: When it was sent or given up; null: neither yet.
    ended_at: datetime | None
    #: Why the newest attempt failed; null: it did not.
    error: str | None
    #: Whether it was sent together with others.
    digest: bool


class NotificationOut(Output):
    """What a user was told."""

    id: int
    kind: NotificationKindName
    at: datetime
    task_id: int | None
    #: The id of the sentence, with its parameters: what `text` says, for programs.
    sentence: str
    params: dict[str, Any]
    #: The sentence.
    text: str
    #: The last lines of a failed task.
    lines: list[str]
    read: bool
    deliveries: list[DeliveryOut]


class NotificationPage(Output):
    """What a user was told, the newest first."""

    items: list[NotificationOut]
    #: How many notifications of the user are not read, on all pages.
    unread: int
    #: `before` of the next page; null: this is the last one.
    next_before: int | None


class NotificationsQuery(Input):
    """Which notifications to list."""

    #: Only those with a smaller id.
    before: Annotated[int, Field(ge=1, le=MAX_NUMBER)] | None = None
    #: Only those that are not read.
    unread: bool = False
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class NotificationsRead(Input):
    """Mark notifications as read."""

    #: The greatest id.
    up_to: Annotated[int, Field(ge=1, le=MAX_NUMBER)]


class ReadCount(Output):
    """How many notifications were marked."""

    marked: int


class SinkList(Output):
    """What the platform sends over, beside JupyterLab, the browser and webhooks."""

    #: Whether a mail server is set up.
    mail: bool
    #: The names of all sinks; their addresses are secrets.
    sinks: list[str]
