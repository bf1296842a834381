"""Mount rules, fabrics, environments and what was found in images, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import delete, select

from hai_scheduler.core.workspace.abi import FoundMachine
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.core.workspace.mounts import MountRule
from hai_scheduler.store.rows import ENVIRONMENT, FABRIC, FOUND, MOUNT_RULE
from hai_scheduler.store.small_tables import StoredPart
from hai_scheduler.store.tables import ENVIRONMENTS, FABRICS, FOUND_MACHINES, MOUNT_RULES

# Made once: to build a statement costs as much as to execute it.
_MOUNT_RULES, _FABRICS, _ENVIRONMENTS = select(MOUNT_RULES), select(FABRICS), select(ENVIRONMENTS)


class StoredMountRules(StoredPart):
    """The mount rules; a name belongs to one rule at most."""

    async def all(self) -> Sequence[MountRule]:
        """All mount rules, sorted by name."""
        return list(await self._tables.rows("mount_rules", self._read))

    async def _read(self) -> Sequence[MountRule]:
        rows = await self._sql.ask(_MOUNT_RULES)
        return sorted((MOUNT_RULE.of(row) for row in rows), key=lambda rule: rule.name)

    async def put(self, rule: MountRule) -> None:
        """Write the whole mount rule of that name."""
        await self._tables.changes("mount_rules")
        self._sql.put(MOUNT_RULES, MOUNT_RULE.values(rule))

    async def delete(self, name: str) -> bool:
        """Remove the mount rule; True if there was one."""
        await self._tables.changes("mount_rules")
        return (await self._sql.change(delete(MOUNT_RULES).where(MOUNT_RULES.c.name == name))).rowcount > 0


class StoredFabrics(StoredPart):
    """The fabrics; a subject has one for a node group at most."""

    async def all(self) -> Sequence[Fabric]:
        """All fabrics, sorted by node group and subject."""
        return list(await self._tables.rows("fabrics", self._read))

    async def _read(self) -> Sequence[Fabric]:
        rows = await self._sql.ask(_FABRICS)
        return sorted((FABRIC.of(row) for row in rows), key=lambda fabric: (fabric.group, fabric.subject))

    async def put(self, fabric: Fabric) -> None:
        """Write the whole fabric of its node group and subject."""
        await self._tables.changes("fabrics")
        self._sql.put(FABRICS, FABRIC.values(fabric))

    async def delete(self, group: str, subject: str) -> bool:
        """Remove the fabric; True if there was one."""
        await self._tables.changes("fabrics")
        this = (FABRICS.c.group_name == group) & (FABRICS.c.subject == subject)
        return (await self._sql.change(delete(FABRICS).where(this))).rowcount > 0


class StoredEnvironments(StoredPart):
    """The environments; a name belongs to one environment at most."""

    async def all(self) -> Sequence[Environment]:
        """All environments, sorted by name."""
        known = await self._tables.rows("environments", self._read)
        # Copies, because the cached environments must not be changed by callers.
        return [replace(environment, variables=dict(environment.variables)) for environment in known]

    async def _read(self) -> Sequence[Environment]:
        rows = await self._sql.ask(_ENVIRONMENTS)
        return sorted((ENVIRONMENT.of(row) for row in rows), key=lambda environment: environment.name)

    async def put(self, environment: Environment) -> None:
        """Write the whole environment of that name."""
        await self._tables.changes("environments")
        self._sql.put(ENVIRONMENTS, ENVIRONMENT.values(environment))

    async def delete(self, name: str) -> bool:
        """Remove the environment; True if there was one."""
        await self._tables.changes("environments")
        return (await self._sql.change(delete(ENVIRONMENTS).where(ENVIRONMENTS.c.name == name))).rowcount > 0


class StoredFoundMachines(StoredPart):
    """What tasks have found in images; an image has one entry at most."""

    async def of(self, image: str) -> FoundMachine | None:
        """What was found in an image, by its key (`core.workspace.abi.key_of`); None: nothing yet."""
        row = (await self._sql.ask(select(FOUND_MACHINES).where(FOUND_MACHINES.c.image == image))).one_or_none()
        return None if row is None else FOUND.of(row)

    async def put(self, found: FoundMachine) -> None:
        """Write what was found in an image, over what was there."""
        self._sql.put(FOUND_MACHINES, FOUND.values(found))
