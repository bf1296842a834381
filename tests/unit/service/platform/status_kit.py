"""The status of the loop as it is written, and as another process reads it."""

from __future__ import annotations

from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.platform.loop_status import SETTING
from kit.worlds import make_world
from unit.service.two_replicas import Pair, SkewedClock


async def written(pair: Pair) -> str | None:
    async with pair.store.read() as tx:
        return await tx.settings.get(SETTING)


def another_process(pair: Pair, ahead: float = 0.0) -> Health:
    """The health of the platform as a process of the API sees it."""
    clock = SkewedClock(pair.clock, ahead)
    return Health(make_world(store=pair.store, clock=clock))
