"""Mount rules and environments in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hai_scheduler.adapters.memory.base import TxPart
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import MountRule


class WorkspacePart(TxPart):
    """The part of a transaction that deals with mount rules and environments."""

    async def mount_rules(self) -> Sequence[MountRule]:
        """See `Tx.mount_rules`."""
        rules = self._seen().mount_rules
        return [rules[name] for name in sorted(rules)]

    async def put_mount_rule(self, rule: MountRule) -> None:
        """See `Tx.put_mount_rule`."""
        state = self._writable()
        self.state = replace(state, mount_rules={**state.mount_rules, rule.name: rule})

    async def delete_mount_rule(self, name: str) -> bool:
        """See `Tx.delete_mount_rule`."""
        state = self._writable()
        rest = {key: rule for key, rule in state.mount_rules.items() if key != name}
        self.state = replace(state, mount_rules=rest)
        return name in state.mount_rules

    async def environments(self) -> Sequence[Environment]:
        """See `Tx.environments`."""
        known = self._seen().environments
        return [_copy_of(known[name]) for name in sorted(known)]

    async def put_environment(self, environment: Environment) -> None:
        """See `Tx.put_environment`."""
        state = self._writable()
        self.state = replace(state, environments={**state.environments, environment.name: _copy_of(environment)})

    async def delete_environment(self, name: str) -> bool:
        """See `Tx.delete_environment`."""
        state = self._writable()
        rest = {key: one for key, one in state.environments.items() if key != name}
        self.state = replace(state, environments=rest)
        return name in state.environments


def _copy_of(environment: Environment) -> Environment:
    """Return a copy with its own dictionary of variables, which is all that a caller could change."""
    return replace(environment, variables=dict(environment.variables))
