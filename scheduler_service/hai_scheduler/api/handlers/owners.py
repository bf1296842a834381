"""The endpoint on users with live tasks."""

from __future__ import annotations

from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.owners import OwnersOut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.service.insight.active_users import active_users


async def show(ask: Ask[Nothing, Nothing]) -> OwnersOut:
    """Return the names of users with live tasks, and nothing about the tasks."""
    return OwnersOut(users=await active_users(ask.services.queries.store))
