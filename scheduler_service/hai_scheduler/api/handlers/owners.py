"""Who has live tasks."""

from __future__ import annotations

from hai_scheduler.api.owner_schemas import OwnersOut
from hai_scheduler.api.params import Nothing
from hai_scheduler.api.route import Ask
from hai_scheduler.service.owners import owners


async def show(ask: Ask[Nothing, Nothing]) -> OwnersOut:
    """The names of these users, and nothing of their tasks."""
    return OwnersOut(users=await owners(ask.services.queries.store))
