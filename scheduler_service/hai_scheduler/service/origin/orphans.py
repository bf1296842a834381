"""Lists and ends orphaned runs for admins (decision 0016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hai_scheduler.core.model.admin_actions import AdminAction
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.origin.orphan_registry import OrphanedRun, read_orphans, write_orphans
from hai_scheduler.service.shared.auditing import audit
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.doorbell import ring_change
from hai_scheduler.service.shared.errors import NotFound
from hai_scheduler.service.shared.world import UseCase


class Orphans(UseCase):
    """The use cases of orphaned runs."""

    async def show(self, caller: Caller) -> Sequence[OrphanedRun]:
        """The orphaned runs of the last tick. Raises Forbidden."""
        admins_only(caller)
        async with self.store.read() as tx:
            return await read_orphans(tx)

    async def end(self, caller: Caller, run_id: str) -> OrphanedRun:
        """End an orphaned run; afterwards it is put aside. Repeating it is harmless. Raises Forbidden and NotFound."""
        admins_only(caller)
        async with self.store.write() as tx:
            orphans = await read_orphans(tx)
            found = next((orphan for orphan in orphans if orphan.run_id == run_id), None)
            if found is None:
                raise NotFound(f"There is no orphaned run {run_id!r}: `hai admin orphans list` shows them.")
            if not found.ending:
                ending = replace(found, ending=True)
                await write_orphans(tx, [ending if orphan == found else orphan for orphan in orphans])
                data = {"run": found.run_id, "user": found.user, "nodes": list(found.nodes)}
                line = HistoryEvent(at=self.clock.now(), kind=EventKind.RUN_ORPHAN_KILLED, actor=caller.name, data=data)
                await tx.events.add(line)
                subject = f"run:{found.run_id}"
                await audit(tx, caller, AdminAction.RUN_ORPHAN_KILLED, subject, at=line.at, before=data)
                found = ending
        await ring_change(self.bus)
        return found
