"""Mount rules and environments in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hai_scheduler.core.workspace.abi import FoundMachine
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import MountRule
from kit.memory.draft import MemoryPart


class MemoryMountRules(MemoryPart):
    """See `ports.stored.workspace.StoredMountRules`."""

    async def all(self) -> Sequence[MountRule]:
        """See `StoredMountRules.all`."""
        rules = self._draft.seen().mount_rules
        return [rules[name] for name in sorted(rules)]

    async def put(self, rule: MountRule) -> None:
        """See `StoredMountRules.put`."""
        state = self._draft.writable()
        self._draft.state = replace(state, mount_rules={**state.mount_rules, rule.name: rule})

    async def delete(self, name: str) -> bool:
        """See `StoredMountRules.delete`."""
        state = self._draft.writable()
        rest = {key: rule for key, rule in state.mount_rules.items() if key != name}
        self._draft.state = replace(state, mount_rules=rest)
        return name in state.mount_rules


class MemoryEnvironments(MemoryPart):
    """See `ports.stored.workspace.StoredEnvironments`."""

    async def all(self) -> Sequence[Environment]:
        """See `StoredEnvironments.all`."""
        known = self._draft.seen().environments
        return [_copy_of(known[name]) for name in sorted(known)]

    async def put(self, environment: Environment) -> None:
        """See `StoredEnvironments.put`."""
        state = self._draft.writable()
        self._draft.state = replace(state, environments={**state.environments, environment.name: _copy_of(environment)})

    async def delete(self, name: str) -> bool:
        """See `StoredEnvironments.delete`."""
        state = self._draft.writable()
        rest = {key: one for key, one in state.environments.items() if key != name}
        self._draft.state = replace(state, environments=rest)
        return name in state.environments


class MemoryFoundMachines(MemoryPart):
    """See `ports.stored.workspace.StoredFoundMachines`."""

    async def of(self, image: str) -> FoundMachine | None:
        """See `StoredFoundMachines.of`."""
        return self._draft.seen().found_machines.get(image)

    async def put(self, found: FoundMachine) -> None:
        """See `StoredFoundMachines.put`."""
        state = self._draft.writable()
        self._draft.state = replace(state, found_machines={**state.found_machines, found.image: found})


def _copy_of(environment: Environment) -> Environment:
    """Return a copy with its own dictionary of variables, which is all that a caller could change."""
    return replace(environment, variables=dict(environment.variables))
