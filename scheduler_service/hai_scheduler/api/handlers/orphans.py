"""Endpoints on orphaned runs, which belong to no task of the database."""

from __future__ import annotations

from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.orphans import OrphanList, OrphanOut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.service.origin.orphan_registry import OrphanedRun


async def show(ask: Ask[Nothing, Nothing]) -> OrphanList:
    """Return all orphaned runs."""
    return OrphanList(items=[_out(orphan) for orphan in await ask.platform.orphans.show(ask.caller)])


async def end(ask: Ask[Nothing, Nothing]) -> OrphanOut:
    """End an orphaned run."""
    return _out(await ask.platform.orphans.end(ask.caller, ask.path["run_id"]))


def _out(orphan: OrphanedRun) -> OrphanOut:
    return OrphanOut(
        run=orphan.run_id,
        origin=None if orphan.origin is None else str(orphan.origin),
        user=orphan.user,
        nodes=list(orphan.nodes),
        live=orphan.live,
        ending=orphan.ending,
    )
