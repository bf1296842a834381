"""An outbox in memory, in virtual time, with messengers that remember what they were given."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.notifying.addresses import BadAddress
from hai_scheduler.core.notifying.values import (
    Delivery,
    Notification,
    NotificationKind,
    NotificationRules,
    deliveries_of,
)
from hai_scheduler.ports.messengers import OutgoingMessage, Recipient, Undelivered
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.notifying.sending import Sending
from kit.builders import T0
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world


def told(**fields: Any) -> Notification:
    """A task of alice has failed, at `T0`; over mail alone."""
    known: dict[str, Any] = {
        "user": "alice",
        "kind": NotificationKind.FAILED,
        "at": T0,
        "key": "k",
        "task_id": TaskId(1),
        "sentence": "task.failed",
        "params": {"task": 1, "name": "train", "exit_codes": [1], "reason": "failed"},
        "channels": frozenset({"mail"}),
    }
    return Notification(**{**known, **fields})


class FakeMessenger:
    """Accepts messages, unless it was told to refuse the next ones."""

    def __init__(self) -> None:
        self.sent: list[tuple[Recipient, OutgoingMessage]] = []
        self.refusals: list[Undelivered] = []
        #: Set: messages are accepted at once.
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, to: Recipient, message: OutgoingMessage) -> None:
        await self.open.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        self.sent.append((to, message))


class FakeBook:
    """Two sinks, mail, and any address without `bad`."""

    mail = True

    def sinks(self) -> Sequence[str]:
        return ("ops", "team")

    def sends_mail(self) -> bool:
        return self.mail

    def check_mail(self, address: str) -> None:
        if "bad" in address:
            raise BadAddress("is no mail address")

    async def check_hook(self, url: str) -> None:
        if "bad" in url:
            raise BadAddress("stands for 10.0.0.1, which is not on the open Internet")


class Outbox:
    """A store with rules of alice, and what sends."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store, self.bus = MemoryStore(), MemoryBus(self.clock)
        self.mail, self.webhook, self.sink = FakeMessenger(), FakeMessenger(), FakeMessenger()
        self.sending = self.started()

    def started(self) -> Sending:
        """What sends, as a new process has it."""
        messengers = {"mail": self.mail, "webhook": self.webhook, "sink": self.sink}
        return Sending(make_world(store=self.store, bus=self.bus, clock=self.clock, messengers=messengers))

    async def rule(self, **fields: Any) -> None:
        known = {"mail": "a@example.org", "webhook": "https://example.org/x", "webhook_secret": "whsec_AA=="}
        async with self.store.write() as tx:
            await tx.notifications.put_rules(NotificationRules(user="alice", **{**known, **fields}))

    async def put(self, *notifications: Notification) -> None:
        """Write notifications with their deliveries."""
        async with self.store.write() as tx:
            for one in notifications:
                added = await tx.notifications.add(one)
                await tx.notifications.route(replace(added, routed=True), deliveries_of(added, self.clock.now()))

    async def send(self, seconds: float = 0) -> None:
        """Let time pass, send what is due, and wait until it is sent."""
        await self.clock.advance(seconds)
        await self.sending.send()
        await self.sending.idle()

    async def deliveries(self, user: str = "alice") -> list[Delivery]:
        async with self.store.read() as tx:
            pages = await tx.notifications.of_user(user, before=None, limit=1000, unread=False)
        return [one for _, deliveries in reversed(pages) for one in deliveries]

    async def events(self) -> list[HistoryEvent]:
        async with self.store.read() as tx:
            page = await tx.events.page(after=0, limit=1000)
        return [event for event in page if event.kind == EventKind.NOTIFICATION]
