"""Endpoints on the cluster over the last day, and on the queue."""

from __future__ import annotations

from hai_scheduler.api.convert import overview as convert
from hai_scheduler.api.server.encoded import Encoded
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.overview import OverviewOut, QueueOut, QueueQuery
from hai_scheduler.api.wire.params import Nothing


async def overview(ask: Ask[Nothing, Nothing]) -> OverviewOut | Encoded:
    """Return the cluster now and over the last day."""
    health, found = await ask.platform.health.look(), await ask.platform.insight.overviews.look()
    return ask.platform.shared_answers.of(
        "overview", found, health.standstill, lambda: convert.overview_out(found, health.standstill)
    )


async def queue(ask: Ask[QueueQuery, Nothing]) -> QueueOut | Encoded:
    """Return the queue in its order."""
    query = ask.query
    page = await ask.platform.insight.queue_lists.page(
        ask.caller, group=query.group, after=query.after, limit=query.limit, mine=query.mine
    )
    return Encoded(convert.queue_text(page, ask.caller.say), packs=False)
