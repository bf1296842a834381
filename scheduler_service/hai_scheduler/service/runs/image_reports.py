"""What ranks find in their images: the supervisor of a run's first rank tells it once.

The job has the same token and could tell something else. So an admin's word on an image counts before this one, a
refusal names the task that has found what it rests on, and of an image with a digest the first word stays.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.workspace import builds
from hai_scheduler.core.workspace.abi import GLIBC, MACHINE, FoundMachine, found_now, key_of
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.runs.rank_reports import live_rank
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.world import UseCase


class ImageReports(UseCase):
    """The use case of ranks that tell what their image has.

    Args:
        store: The store.
        clock: The time.
        platform: The image of ranks whose environment names none; None: ranks run in no image here.
    """

    async def take(self, run_id: RunId, rank: int, machine: str, glibc: str) -> None:
        """Keep what a rank has found in its image. Repeating it is harmless.

        Raises:
            Conflict: The run is over.
            Invalid: The run has no such rank, or a value cannot be one.
        """
        for name, pattern, value in (("machine", MACHINE, machine), ("glibc", GLIBC, glibc)):
            if not re.fullmatch(pattern, value) and (value or name == "machine"):
                raise Invalid(name, value[:80], "cannot be one")
        async with self.store.read() as tx:
            found = await self._found(tx, run_id, rank)
            if found is None:
                return
            found = replace(found, machine=machine, glibc=glibc)
            if found_now(await tx.found_machines.of(found.image), found) is None:
                return
        async with self.store.write() as tx:
            now = found_now(await tx.found_machines.of(found.image), found)
            if now is not None:
                await tx.found_machines.put(now)

    async def _found(self, tx: Tx, run_id: RunId, rank: int) -> FoundMachine | None:
        """Return the entry for the image of a run; None: it runs in none, or in that of builds."""
        task, _ = await live_rank(tx, run_id, rank)
        spec = await tx.tasks.get_spec(task.id)
        if self.world.platform_image is None or builds.of_task(spec.env, spec.command) is not None:
            return None
        named = next((one for one in await tx.environments.all() if one.name == spec.environment), None)
        image = spec.image or (named and named.image) or self.world.platform_image.image
        return FoundMachine(image=key_of(image), machine="", glibc="", task=task.id, at=self.clock.now())
