"""Development containers that live, in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from hai_scheduler.core.ledger.development import DevelopmentContainer
from kit.memory.draft import MemoryPart


class MemoryContainers(MemoryPart):
    """See `ports.stored.containers.StoredContainers`."""

    async def all(self) -> Sequence[DevelopmentContainer]:
        """See `StoredContainers.all`."""
        containers = self._draft.seen().containers
        return [containers[each] for each in sorted(containers)]

    async def put(self, containers: Collection[DevelopmentContainer]) -> None:
        """See `StoredContainers.put`."""
        state = self._draft.writable()
        more = {container.id: container for container in containers}
        self._draft.state = replace(state, containers={**state.containers, **more})

    async def remove(self, ids: Collection[str]) -> None:
        """See `StoredContainers.remove`."""
        state = self._draft.writable()
        left = {each: container for each, container in state.containers.items() if each not in ids}
        self._draft.state = replace(state, containers=left)
