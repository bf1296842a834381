"""Converts orphaned runs into models of the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.orphans import OrphanOut
from hai_scheduler.service.origin.orphan_registry import OrphanedRun


def orphan_out(orphan: OrphanedRun) -> OrphanOut:
    """Return the model of an orphaned run."""
    return OrphanOut.of(orphan, run=orphan.run_id, origin=None if orphan.origin is None else str(orphan.origin))
