"""Notes how many nodes there are, minute by minute: what occupancy is measured against."""

from __future__ import annotations

from hai_scheduler.core.costs.capacity import capacities
from hai_scheduler.service.shared.world import UseCase


class CapacityNotes(UseCase):
    """Adds the time since the last note to the hours that it belongs to."""

    async def note(self) -> None:
        """Count the nodes of the latest tick from the last note of any leader until now; each time is counted once."""
        nodes = self.latest_plan.nodes
        if not nodes or not self.latest_plan.leading:
            return
        async with self.store.write() as tx:
            # Read in the transaction that writes, so that a former leader's note is never counted again.
            for part in capacities(nodes, await tx.capacity.last(), self.clock.now()):
                await tx.capacity.add(part)
