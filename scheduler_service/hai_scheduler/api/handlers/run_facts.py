"""Who a run's token speaks for."""

from __future__ import annotations

from hai_scheduler.api.params import Nothing
from hai_scheduler.api.problems import gone
from hai_scheduler.api.route import Ask
from hai_scheduler.api.run_schemas import RunFactsOut
from hai_scheduler.service.errors import InTheWay


async def show(ask: Ask[Nothing, Nothing]) -> RunFactsOut:
    """Whose run is it, and where?"""
    try:
        return RunFactsOut.model_validate(await ask.services.run_book.facts(ask.run))
    except InTheWay as error:
        raise gone(error) from None
