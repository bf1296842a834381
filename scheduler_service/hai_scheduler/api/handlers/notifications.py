"""Endpoints on notifications."""

from __future__ import annotations

from hai_scheduler.api.convert import notifications as convert
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.notifications import (
    NotificationOut,
    NotificationPage,
    NotificationRulesOut,
    NotificationRulesPut,
    NotificationsQuery,
    NotificationsRead,
    NotificationTest,
    ReadCount,
    SinkList,
)
from hai_scheduler.api.wire.params import Nothing


async def show(ask: Ask[Nothing, Nothing]) -> NotificationRulesOut:
    """Return the caller's rules."""
    return convert.rules_out(ask.caller.say, await ask.platform.notifications.show(ask.caller))


async def put(ask: Ask[Nothing, NotificationRulesPut]) -> NotificationRulesOut:
    """Write the caller's rules."""
    return convert.rules_out(
        ask.caller.say, await ask.platform.notifications.put(ask.caller, convert.change_of(ask.body))
    )


async def test(ask: Ask[Nothing, NotificationTest]) -> NotificationOut:
    """Have a test sent."""
    return convert.notification_out(
        ask.caller.say, await ask.platform.notifications.test(ask.caller, ask.body.channels), ()
    )


async def page(ask: Ask[NotificationsQuery, Nothing]) -> NotificationPage:
    """Return what the caller was told."""
    asked = ask.query
    found = await ask.platform.notifications.page(
        ask.caller, before=asked.before, limit=asked.limit, unread=asked.unread
    )
    return convert.page_out(ask.caller.say, found, asked.limit)


async def mark_read(ask: Ask[Nothing, NotificationsRead]) -> ReadCount:
    """Mark notifications of the caller as read."""
    return ReadCount(marked=await ask.platform.notifications.mark_read(ask.caller, ask.body.up_to))


async def sinks(ask: Ask[Nothing, Nothing]) -> SinkList:
    """Return what the platform sends over."""
    mail, names = ask.platform.notifications.sinks(ask.caller)
    return SinkList(mail=mail, sinks=list(names))
