"""The endpoint on users with live tasks."""

from __future__ import annotations

from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.active_users import ActiveUsersOut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.service.insight.active_users import active_users


async def show(ask: Ask[Nothing, Nothing]) -> ActiveUsersOut:
    """Return the names of users with live tasks, and nothing about the tasks."""
    return ActiveUsersOut(users=await active_users(ask.platform.world.store))
