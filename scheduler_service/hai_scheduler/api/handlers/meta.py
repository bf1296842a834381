"""The service itself: who asks, its numbers, its health, its description."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from hai_scheduler import __version__
from hai_scheduler.api import convert
from hai_scheduler.api.metrics import CONTENT_TYPE_LATEST
from hai_scheduler.api.params import Nothing
from hai_scheduler.api.quota_schemas import MeOut
from hai_scheduler.api.route import Ask, Text
from hai_scheduler.api.schemas import HealthOut

#: A scheduler that has not ticked for this long is not well.
SILENCE: Final = timedelta(seconds=30)


_LATE: Final = "The scheduler has not looked at the cluster lately: its log says why."
_BLIND: Final = "The cluster cannot be seen, and nothing is decided until it can: the scheduler's log says why."
_UNUSED: Final = "Policy numbers that admins have set do not fit the configuration: `hai policy` says why."
_ORPHANS: Final = "Runs that belong to no task of this database hold nodes: `hai admin orphans list` shows them."
_HINDERED: Final = "What the scheduler wants done does not go through and is tried again: its log says why."


async def health(ask: Ask[Nothing, Nothing]) -> HealthOut:
    """Whether the scheduler does its work. Nobody in particular may ask, so no names are told."""
    silence = ask.services.queries.silence()
    late = silence is None or silence >= SILENCE
    blind = ask.services.queries.blind()
    hindered, unused = ask.services.queries.hindered(), ask.services.queries.policy_trouble()
    orphans = ask.services.queries.orphans()
    well = not late and not blind and not hindered and not unused and not orphans
    detail = _BLIND if blind else _LATE if late else _HINDERED if hindered else _UNUSED if unused else _ORPHANS
    return HealthOut(
        status="ok" if well else "degraded",
        version=__version__,
        last_tick_s=None if silence is None else silence.total_seconds(),
        detail=None if well else detail,
    )


async def metrics(ask: Ask[Nothing, Nothing]) -> Text:
    """Metrics for Prometheus."""
    return Text(await ask.services.metrics.exposition(ask.services.queries), CONTENT_TYPE_LATEST)


async def me(ask: Ask[Nothing, Nothing]) -> MeOut:
    """Who asks, what he may do and hold."""
    caller = ask.caller
    return MeOut(
        name=caller.name,
        kind=caller.kind,
        admin=caller.admin,
        groups=sorted(caller.groups),
        scopes=sorted(caller.scopes),
        quota=[convert.own_quota_out(view) for view in await ask.services.queries.own_quota(caller)],
    )
