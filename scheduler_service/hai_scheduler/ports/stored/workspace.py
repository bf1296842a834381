"""Mount rules, environments and what was found in images, in a transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hai_scheduler.core.workspace.abi import FoundMachine
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


class StoredFoundMachines(Protocol):
    """What tasks have found in images; an image has one entry at most."""

    async def of(self, image: str) -> FoundMachine | None:
        """What was found in an image, by its key (`core.workspace.abi.key_of`); None: nothing yet."""
        ...

    async def put(self, found: FoundMachine) -> None:
        """Write what was found in an image, over what was there."""
        ...
