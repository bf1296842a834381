"""Mount rules and environments in a transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import MountRule


class StoredMountRules(Protocol):
    """The mount rules; a name belongs to one rule at most."""

    async def all(self) -> Sequence[MountRule]:
        """All mount rules, sorted by name."""
        ...

    async def put(self, rule: MountRule) -> None:
        """Write the whole mount rule of that name."""
        ...

    async def delete(self, name: str) -> bool:
        """Remove the mount rule; True if there was one."""
        ...


class StoredEnvironments(Protocol):
    """The environments; a name belongs to one environment at most."""

    async def all(self) -> Sequence[Environment]:
        """All environments, sorted by name."""
        ...

    async def put(self, environment: Environment) -> None:
        """Write the whole environment of that name."""
        ...

    async def delete(self, name: str) -> bool:
        """Remove the environment; True if there was one."""
        ...
