"""Who a run's token speaks for."""

from __future__ import annotations

from hai_scheduler.api.server.problems import gone
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.runs import RunFactsOut
from hai_scheduler.service.shared.errors import InTheWay


async def show(ask: Ask[Nothing, Nothing]) -> RunFactsOut:
    """Whose run is it, and where?"""
    try:
        return RunFactsOut.model_validate(await ask.services.run_book.facts(ask.run))
    except InTheWay as error:
        raise gone(error) from None
