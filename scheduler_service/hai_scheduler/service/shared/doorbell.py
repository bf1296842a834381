"""Who changes a task without the means to act on the cluster rings: the loop's next tick does the rest."""

from __future__ import annotations

from collections.abc import Iterable

from hai_scheduler.core.lifecycle.transitions import Effect, Notify
from hai_scheduler.ports.bus import Bus
from hai_scheduler.service.shared.topics import run_topic


async def ring_notices(bus: Bus, effects: Iterable[Effect]) -> None:
    """Wake the ranks whose notice a committed change has written, so that they hear of it before the next tick.

    All other effects (launches, ends) are carried out by the scheduling loop alone: it wants them of itself, because
    they follow from what is written (`cycle._wanted_again`).
    """
    for effect in effects:
        if isinstance(effect, Notify):
            await bus.ring(run_topic(effect.run_id))
