"""Endpoints on notifications."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.notifications import (
    DeliveryOut,
    NotificationChannel,
    NotificationOut,
    NotificationPage,
    NotificationRule,
    NotificationRulesOut,
    NotificationRulesPut,
    NotificationsQuery,
    NotificationsRead,
    NotificationTest,
    ReadCount,
    SinkList,
)
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.core.notifying.values import RULED, Delivery, Notification
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.notifications import text_of
from hai_scheduler.service.notifying.own_rules import ChannelView, RulesChange, RulesView, ToldPage


def change_of(body: NotificationRulesPut) -> RulesChange:
    """Return the rules that a client writes."""
    return RulesChange(
        channels=[(rule.kind, rule.channels) for rule in body.rules],
        waits_longer=timedelta(seconds=body.waits_longer_s),
        mail=body.mail,
        webhook=body.webhook,
        new_secret=body.new_secret,
    )


def rules_out(say: Language, view: RulesView) -> NotificationRulesOut:
    """Return the model of a user's rules."""
    rules = view.rules
    return NotificationRulesOut.of(
        rules,
        rules=[NotificationRule(kind=kind, channels=sorted(rules.of(kind))) for kind in RULED],  # type: ignore[arg-type]
        webhook_secret=view.new_secret,
        channels=[_channel(say, one) for one in view.channels],
    )


def _channel(say: Language, view: ChannelView) -> NotificationChannel:
    missing = None if view.missing is None else say(f"channel.{view.missing}")
    return NotificationChannel.of(view, missing=missing)


def notification_out(say: Language, notification: Notification, deliveries: Sequence[Delivery]) -> NotificationOut:
    """Return the model of a notification."""
    return NotificationOut.of(
        notification,
        text=text_of(say, notification),
        deliveries=[DeliveryOut.of(one, digest=one.digest is not None) for one in deliveries],
    )


def page_out(say: Language, page: ToldPage, limit: int) -> NotificationPage:
    """Return the model of a page of at most `limit` notifications."""
    items = [notification_out(say, *one) for one in page.items]
    return NotificationPage(items=items, unread=page.unread, next_before=items[-1].id if len(items) == limit else None)


async def show(ask: Ask[Nothing, Nothing]) -> NotificationRulesOut:
    """Return the caller's rules."""
    return rules_out(ask.caller.say, await ask.platform.notifications.show(ask.caller))


async def put(ask: Ask[Nothing, NotificationRulesPut]) -> NotificationRulesOut:
    """Write the caller's rules."""
    return rules_out(ask.caller.say, await ask.platform.notifications.put(ask.caller, change_of(ask.body)))


async def test(ask: Ask[Nothing, NotificationTest]) -> NotificationOut:
    """Have a test sent."""
    return notification_out(ask.caller.say, await ask.platform.notifications.test(ask.caller, ask.body.channels), ())


async def page(ask: Ask[NotificationsQuery, Nothing]) -> NotificationPage:
    """Return what the caller was told."""
    asked = ask.query
    found = await ask.platform.notifications.page(
        ask.caller, before=asked.before, limit=asked.limit, unread=asked.unread
    )
    return page_out(ask.caller.say, found, asked.limit)


async def mark_read(ask: Ask[Nothing, NotificationsRead]) -> ReadCount:
    """Mark notifications of the caller as read."""
    return ReadCount(marked=await ask.platform.notifications.mark_read(ask.caller, ask.body.up_to))


async def sinks(ask: Ask[Nothing, Nothing]) -> SinkList:
    """Return what the platform sends over."""
    mail, names = ask.platform.notifications.sinks(ask.caller)
    return SinkList(mail=mail, sinks=list(names))
