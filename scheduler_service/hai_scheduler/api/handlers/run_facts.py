"""The endpoint on the run whose token a request carries."""

from __future__ import annotations

from hai_scheduler.api.server.problems import gone
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.runs import RunFactsOut
from hai_scheduler.service.shared.errors import Conflict


async def show(ask: Ask[Nothing, Nothing]) -> RunFactsOut:
    """Return the user, the task and the address of the run. Raises Refused: 410 when it is over."""
    try:
        return RunFactsOut.model_validate(await ask.platform.runs.registry.facts(ask.run))
    except Conflict as error:
        raise gone(error) from None
