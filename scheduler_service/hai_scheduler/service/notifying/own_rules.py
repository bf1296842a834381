"""The use cases of users: their rules, a test of their channels, and what they were told."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, get_args

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.notifying.addresses import BadAddress
from hai_scheduler.core.notifying.values import (
    BROWSER,
    FEED,
    LAB,
    MAIL,
    RULED,
    SINK,
    WEBHOOK,
    Delivery,
    Notification,
    NotificationKind,
    NotificationRules,
)
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Forbidden, Invalid
from hai_scheduler.service.shared.outbox import rules_for
from hai_scheduler.service.shared.topics import FEED as FEED_TOPIC
from hai_scheduler.service.shared.world import UseCase

#: How long a task may wait before its owner is told: at least, and at most.
SHORTEST_WAIT: Final = timedelta(minutes=1)
LONGEST_WAIT: Final = timedelta(days=30)
#: Channels that one rule may name.
MOST_CHANNELS: Final = 20
#: What a channel can lack: an address of its user, a server of the platform, or its sink.
Missing = Literal["mail", "no_mail", "webhook", "sink"]
MISSING: Final[tuple[Missing, ...]] = get_args(Missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesChange:
    """The rules as a user writes them."""

    #: Kinds with their channels; kinds that are left out stay as they are.
    channels: Sequence[tuple[str, Sequence[str]]]
    waits_longer: timedelta
    mail: str | None
    webhook: str | None
    #: Whether the webhook gets a new key.
    new_secret: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelView:
    """A channel as its user sees it."""

    name: str
    #: What it lacks; None: it can be used.
    missing: Missing | None
    #: Why the newest message that has trouble was not delivered; None: there is no such message.
    error: str | None
    error_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesView:
    """The rules of a user, and the channels that there are."""

    rules: NotificationRules
    channels: Sequence[ChannelView]
    #: The key of the webhook, if it has just been made: it is shown once.
    new_secret: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldPage:
    """What a user was told, the newest first."""

    items: Sequence[tuple[Notification, Sequence[Delivery]]]
    #: How many notifications of the user are not read, on all pages.
    unread: int


class OwnNotifications(UseCase):
    """What users do with their own notifications. Nobody sees or changes those of others, not even admins."""

    async def show(self, caller: Caller) -> RulesView:
        """Return the caller's rules, with the channels that they may use."""
        async with self.store.read() as tx:
            rules = await rules_for(tx, caller.name)
            troubles = {one.channel: one for one in await tx.notifications.troubles(caller.name)}
        return self._view(rules, troubles)

    async def put(self, caller: Caller, change: RulesChange) -> RulesView:
        """Write the caller's rules.

        Raises:
            Forbidden: The caller is a service.
            Invalid: A kind, a channel or an address is wrong.
        """
        _users_only(caller)
        channels = {_kind_of(name): self._channels_of(name, some) for name, some in change.channels}
        if not SHORTEST_WAIT <= change.waits_longer <= LONGEST_WAIT:
            raise Invalid(
                "waits_longer_s",
                change.waits_longer.total_seconds(),
                "must be from 60 (1 minute) to 2592000 (30 days)",
            )
        await self._check_addresses(caller, change)
        async with self.store.write() as tx:
            before = await rules_for(tx, caller.name)
            fresh = change.webhook is not None and (change.new_secret or before.webhook_secret is None)
            key = _new_key() if fresh else before.webhook_secret
            after = replace(
                before,
                channels={**before.channels, **channels},
                waits_longer=change.waits_longer,
                mail=change.mail,
                webhook=change.webhook,
                webhook_secret=None if change.webhook is None else key,
            )
            _check_complete(after)
            if after != before:
                await tx.notifications.put_rules(after)
                # Addresses and the key are left out: admins read the audit trail.
                await tx.events.add(
                    HistoryEvent(
                        at=self.clock.now(),
                        kind=EventKind.NOTIFICATION_RULES,
                        actor=caller.name,
                        user=caller.name,
                        data={"kinds": sorted(channels), "mail": change.mail is not None, "webhook": fresh},
                    )
                )
            troubles = {one.channel: one for one in await tx.notifications.troubles(caller.name)}
        await self.bus.ring(FEED_TOPIC)
        view = self._view(after, troubles)
        return replace(view, new_secret=key) if fresh else view

    async def test(self, caller: Caller, channels: Collection[str] | None) -> Notification:
        """Have a test sent over the caller's channels.

        Args:
            caller: The user.
            channels: The channels; None: all that the caller can use and has an address for.

        Raises:
            Forbidden: The caller is a service.
            Invalid: A channel is wrong, or has no address.
        """
        _users_only(caller)
        async with self.store.write() as tx:
            rules = await rules_for(tx, caller.name)
            if channels is None:
                wanted = frozenset(self._usable(rules))
            else:
                wanted = self._channels_of("channels", channels, field="channels")
                _check_complete(replace(rules, channels={NotificationKind.TEST: wanted}))
            now = self.clock.now()
            test = Notification(
                user=caller.name,
                kind=NotificationKind.TEST,
                at=now,
                key=f"test:{caller.name}:{now.isoformat()}",
                sentence="test",
                params={"user": caller.name},
                channels=wanted,
            )
            added = await tx.notifications.add(test)
        await self.bus.ring(FEED_TOPIC)
        return added

    async def page(self, caller: Caller, *, before: int | None, limit: int, unread: bool) -> ToldPage:
        """Return what the caller was told; the arguments are those of `StoredNotifications.of_user`."""
        async with self.store.read() as tx:
            items = await tx.notifications.of_user(caller.name, before=before, limit=limit, unread=unread)
            return ToldPage(items=items, unread=await tx.notifications.unread(caller.name))

    async def mark_read(self, caller: Caller, up_to: int) -> int:
        """Mark the caller's notifications up to that id as read; returns how many were not."""
        async with self.store.write() as tx:
            return await tx.notifications.mark_read(caller.name, up_to)

    def sinks(self, caller: Caller) -> tuple[bool, Sequence[str]]:
        """Return whether mail is sent, and the names of all sinks. For admins; raises Forbidden."""
        admins_only(caller)
        return self.world.address_book.sends_mail(), self.world.address_book.sinks()

    def _view(self, rules: NotificationRules, troubles: Mapping[str, Delivery]) -> RulesView:
        missing: dict[str, Missing | None] = {LAB: None, BROWSER: None}
        missing[MAIL] = self._without_mail(rules)
        missing[WEBHOOK] = None if rules.webhook else "webhook"
        missing |= {f"{SINK}{name}": None for name in self.world.address_book.sinks()}
        for channel in sorted(frozenset().union(*rules.channels.values()) - missing.keys()):
            missing[channel] = "sink"
        return RulesView(rules=rules, channels=[_channel(name, why, troubles) for name, why in missing.items()])

    def _without_mail(self, rules: NotificationRules) -> Missing | None:
        if not self.world.address_book.sends_mail():
            return "no_mail"
        return None if rules.mail else "mail"

    def _usable(self, rules: NotificationRules) -> list[str]:
        used = frozenset().union(*rules.channels.values())
        return [
            one.name
            for one in self._view(rules, {}).channels
            if one.missing is None and (not one.name.startswith(SINK) or one.name in used)
        ]

    def _channels_of(self, kind: str, channels: Collection[str], *, field: str | None = None) -> frozenset[str]:
        """The channels that a rule names. Raises Invalid for one that this platform does not have."""
        known = [LAB, BROWSER, MAIL, WEBHOOK, *(f"{SINK}{name}" for name in self.world.address_book.sinks())]
        if len(channels) > MOST_CHANNELS:
            raise Invalid(field or f"rules.{kind}", len(channels), f"name {MOST_CHANNELS} channels at most")
        for one in channels:
            if one not in known:
                raise Invalid(
                    field or f"rules.{kind}", one, f"{one!r:.80} is no channel here: choose among {', '.join(known)}"
                )
        return frozenset(channels)

    async def _check_addresses(self, caller: Caller, change: RulesChange) -> None:
        """Check the addresses that are new: one that was written before may go on as it is."""
        async with self.store.read() as tx:
            before = await rules_for(tx, caller.name)
        field: str = "mail"
        try:
            if change.mail is not None and change.mail != before.mail:
                if not self.world.address_book.sends_mail():
                    raise BadAddress("cannot be used, this platform sends no mail: leave it out")
                self.world.address_book.check_mail(change.mail)
            field = "webhook"
            if change.webhook is not None and change.webhook != before.webhook:
                await self.world.address_book.check_hook(change.webhook)
        except BadAddress as error:
            value: Any = change.mail if field == "mail" else change.webhook
            raise Invalid(field, value, f"the address {error}") from None
        if change.new_secret and change.webhook is None:
            raise Invalid("new_secret", True, "there is no webhook: give its address, or leave this out")


def _check_complete(rules: NotificationRules) -> None:
    """Raise Invalid if a rule names a channel without an address."""
    used = frozenset().union(*rules.channels.values())
    if MAIL in used and rules.mail is None:
        raise Invalid("mail", None, "is missing, and rules name the channel mail: give an address, or leave mail out")
    if WEBHOOK in used and rules.webhook is None:
        raise Invalid("webhook", None, "is missing, and rules name it: give an address, or leave the webhook out")


def _channel(name: str, missing: Missing | None, troubles: Mapping[str, Delivery]) -> ChannelView:
    trouble = troubles.get(FEED if name in (LAB, BROWSER) else name)
    return ChannelView(
        name=name,
        missing=missing,
        error=None if trouble is None else trouble.error,
        error_at=None if trouble is None else trouble.ended_at or trouble.at,
    )


def _kind_of(name: str) -> NotificationKind:
    if name not in RULED:
        raise Invalid("rules", name, f"{name!r:.80} is no kind of notification: choose among {', '.join(RULED)}")
    return NotificationKind(name)


def _users_only(caller: Caller) -> None:
    if caller.kind != "user":
        raise Forbidden("Notifications are for users: ask with the token of a user, not of a service.")


def _new_key() -> str:
    """A key of webhooks as Standard Webhooks writes it: 32 random bytes."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
