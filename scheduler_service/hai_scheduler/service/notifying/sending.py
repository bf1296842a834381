"""Sends what is due: over the feed in one transaction, over mail, webhooks and sinks by messengers.

A delivery is claimed before it is sent, and what came of it is written right after: a loop that dies in between leaves
a claim that ends, and the next one sends the same message with the same id. What was written as sent is not sent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from hai_scheduler.core.notifying.sending import HOUR, claimed, failed, plan_sending, succeeded
from hai_scheduler.core.notifying.values import FEED, MAIL, SINK, WEBHOOK, Delivery, Notification, NotificationRules
from hai_scheduler.ports.messengers import OutgoingMessage, Recipient, Undelivered
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.notifying.messages import event_of, message_of
from hai_scheduler.service.shared.outbox import rules_for
from hai_scheduler.service.shared.topics import FEED as FEED_TOPIC
from hai_scheduler.service.shared.world import UseCase

log = logging.getLogger(__name__)

#: Deliveries that are looked at together.
BATCH: Final = 500
#: Users' channels that are sent over at the same time.
AT_ONCE: Final = 8
#: Messages that are sent one after the other over one channel of a user, and seconds after which no other begins.
MESSAGES: Final = 10
BATCH_S: Final = 20.0
#: Messages of a user in an hour, by channel; the last of them is a digest.
ON_SCREEN_PER_HOUR: Final = 60
PER_HOUR: Final = 20

_Told = tuple[Delivery, Notification]
_Job = tuple[OutgoingMessage, Recipient | None, Sequence[Delivery]]


@dataclass(slots=True, eq=False)
class Sending(UseCase):
    """The second step of the outbox."""

    #: How long a delivery that is being sent is nobody else's; longer than any attempt with those before it.
    claim: timedelta = timedelta(seconds=60)
    #: What is being sent now, by user and channel.
    _busy: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)
    #: Users' channels whose last message was not delivered.
    _failing: set[tuple[str, str]] = field(default_factory=set)
    #: Set when a channel has become free: more may be due over it.
    freed: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self) -> int:
        """Send what is due; returns how many messages were sent over the feed or handed to a messenger.

        Raises:
            Temporary: The store cannot be read or written now.
        """
        now = self.clock.now()
        async with self.store.read() as tx:
            if not await tx.notifications.due(now, 1):
                return 0
        jobs: dict[tuple[str, str], list[_Job]] = {}
        told = 0
        async with self.store.write() as tx:
            mark = await tx.database.mark()
            sent = await tx.notifications.sent_since(now - HOUR)
            for key, due in _by_channel(await tx.notifications.due(now, BATCH)).items():
                feed = key[1] == FEED
                if not feed and (key in self._busy or len(self._busy) + len(jobs) >= AT_ONCE):
                    continue
                most = ON_SCREEN_PER_HOUR if feed else PER_HOUR
                plan = plan_sending([one for one, _ in due], sent.get(key, ()), now, most_per_hour=most)
                await tx.notifications.save(plan.waiting)
                about = {one.id: notification for one, notification in due}
                if feed:
                    for message in plan.messages:
                        await tx.events.add(event_of([about[one.id] for one in message], now))
                        await tx.notifications.save([succeeded(one, now) for one in message])
                        told += 1
                    continue
                rules = await rules_for(tx, key[0])
                for message in plan.messages[:MESSAGES]:
                    taken = [claimed(one, now, self.claim) for one in message]
                    await tx.notifications.save(taken)
                    outgoing = message_of([(one, about[one.id]) for one in taken], mark)
                    jobs.setdefault(key, []).append((outgoing, recipient_of(key[1], rules), taken))
        if told:
            await self.bus.ring(FEED_TOPIC)
        for key, work in jobs.items():
            self._begin(key, work)
        return told + sum(map(len, jobs.values()))

    async def idle(self) -> None:
        """Wait until nothing is being sent, for tests and for the end of the loop."""
        while self._busy:
            await asyncio.wait(list(self._busy.values()))

    async def end(self) -> None:
        """Stop sending. What has no answer yet is sent again after its claim."""
        for task in self._busy.values():
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    def _begin(self, key: tuple[str, str], work: Sequence[_Job]) -> None:
        def over(_: asyncio.Task[None]) -> None:
            self._busy.pop(key, None)
            self.freed.set()

        task = self._busy[key] = asyncio.create_task(self._send_all(key, work))
        task.add_done_callback(over)

    async def _send_all(self, key: tuple[str, str], work: Sequence[_Job]) -> None:
        began = self.clock.steady()
        for message, to, deliveries in work:
            if self.clock.steady() - began > BATCH_S:
                # The others are due again when their claims end.
                return
            try:
                await self._send_one(key[1], message, to, deliveries)
            except Exception:  # one that fails for an unknown reason must not keep the others back
                log.exception("a message over %s failed; it is sent again when its claim ends", key[1])

    def _say(self, key: tuple[str, str], error: Undelivered | None) -> None:
        """Write a line when a user's channel stops to take messages, and when it takes them again, and no other."""
        if error is not None and key not in self._failing:
            self._failing.add(key)
            log.info("messages to %s over %s are not delivered: %s; they are tried again", *key, error)
        elif error is None and key in self._failing:
            self._failing.remove(key)
            log.info("messages to %s over %s are delivered again", *key)

    async def _send_one(
        self, channel: str, message: OutgoingMessage, to: Recipient | None, deliveries: Sequence[Delivery]
    ) -> None:
        error: Undelivered | None = None
        messenger = self.world.messengers.get(channel.partition(":")[0])
        try:
            if to is None:
                raise Undelivered("its user has removed the address", hopeless=True)
            if messenger is None:
                raise Undelivered(f"this platform sends nothing over {channel} any more: tell an admin")
            await messenger.send(to, message)
        except Undelivered as refused:
            error = refused
        now = self.clock.now()
        ended = [
            succeeded(one, now) if error is None else failed(one, now, str(error), hopeless=error.hopeless)
            for one in deliveries
        ]
        self._say((message.user, channel), error)
        async with self.store.write() as tx:
            await tx.notifications.save(ended)


def recipient_of(channel: str, rules: NotificationRules) -> Recipient | None:
    """Return where messages over a channel go by a user's rules; None: they have removed the address."""
    if channel == MAIL and rules.mail is not None:
        return Recipient(address=rules.mail)
    if channel == WEBHOOK and rules.webhook is not None:
        secret = None if rules.webhook_secret is None else Secret(rules.webhook_secret)
        return Recipient(address=rules.webhook, secret=secret)
    if channel.startswith(SINK):
        return Recipient(address=channel.removeprefix(SINK))
    return None


def _by_channel(due: Sequence[_Told]) -> Mapping[tuple[str, str], list[_Told]]:
    found: defaultdict[tuple[str, str], list[_Told]] = defaultdict(list)
    for delivery, notification in due:
        found[delivery.user, delivery.channel].append((delivery, notification))
    return found
