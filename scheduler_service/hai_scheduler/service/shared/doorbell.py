"""Rings after a committed change, for the loops and the streams that follow it."""

from __future__ import annotations

from collections.abc import Iterable

from hai_scheduler.core.lifecycle.transitions import Effect, RingNotice
from hai_scheduler.ports.bus import Bus
from hai_scheduler.service.shared.topics import FEED, TICK, run_topic


async def ring_change(bus: Bus) -> None:
    """Wake the scheduling loop and all that follow the feed: something has changed that a plan may depend on."""
    await bus.ring(TICK)
    await bus.ring(FEED)


async def ring_notices(bus: Bus, effects: Iterable[Effect]) -> None:
    """Wake the ranks for which a committed change has written a notice, so that they read it before the next tick.

    Only the scheduling loop carries out all other effects (launches, ends): it derives them from what is stored
    (`cycle._wanted_again`).
    """
    for effect in effects:
        if isinstance(effect, RingNotice):
            await bus.ring(run_topic(effect.run_id))
