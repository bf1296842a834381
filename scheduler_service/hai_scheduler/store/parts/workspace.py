"""Mount rules, environments and what was found in images, in a transaction on a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, delete, select

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.workspace.abi import FoundMachine
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import Action, MountKind, MountRule
from hai_scheduler.store.rows import of_instant, to_instant
from hai_scheduler.store.small_tables import SmallTablePart
from hai_scheduler.store.statements import Statements
from hai_scheduler.store.tables import ENVIRONMENTS, FOUND_MACHINES, MOUNT_RULES

# Made once: to build a statement costs as much as to execute it.
_MOUNT_RULES, _ENVIRONMENTS = select(MOUNT_RULES), select(ENVIRONMENTS)


class SqlMountRules(SmallTablePart):
    """See `ports.stored.workspace.StoredMountRules`."""

    async def all(self) -> Sequence[MountRule]:
        """See `StoredMountRules.all`."""
        return list(await self._tables.rows("mount_rules", self._read))

    async def _read(self) -> Sequence[MountRule]:
        rows = await self._sql.ask(_MOUNT_RULES)
        return sorted((_rule_of(row) for row in rows), key=lambda rule: rule.name)

    async def put(self, rule: MountRule) -> None:
        """See `StoredMountRules.put`."""
        await self._tables.changes("mount_rules")
        await self._sql.put(MOUNT_RULES, _rule_values(rule))

    async def delete(self, name: str) -> bool:
        """See `StoredMountRules.delete`."""
        await self._tables.changes("mount_rules")
        return (await self._sql.change(delete(MOUNT_RULES).where(MOUNT_RULES.c.name == name))).rowcount > 0


class SqlEnvironments(SmallTablePart):
    """See `ports.stored.workspace.StoredEnvironments`."""

    async def all(self) -> Sequence[Environment]:
        """See `StoredEnvironments.all`."""
        known = await self._tables.rows("environments", self._read)
        # Copies, because the cached environments must not be changed by callers.
        return [replace(environment, variables=dict(environment.variables)) for environment in known]

    async def _read(self) -> Sequence[Environment]:
        rows = await self._sql.ask(_ENVIRONMENTS)
        return sorted((_environment_of(row) for row in rows), key=lambda environment: environment.name)

    async def put(self, environment: Environment) -> None:
        """See `StoredEnvironments.put`."""
        await self._tables.changes("environments")
        await self._sql.put(ENVIRONMENTS, _environment_values(environment))

    async def delete(self, name: str) -> bool:
        """See `StoredEnvironments.delete`."""
        await self._tables.changes("environments")
        return (await self._sql.change(delete(ENVIRONMENTS).where(ENVIRONMENTS.c.name == name))).rowcount > 0


class SqlFoundMachines:
    """See `ports.stored.workspace.StoredFoundMachines`."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def of(self, image: str) -> FoundMachine | None:
        """See `StoredFoundMachines.of`."""
        row = (await self._sql.ask(select(FOUND_MACHINES).where(FOUND_MACHINES.c.image == image))).one_or_none()
        if row is None:
            return None
        return FoundMachine(
            image=row.image, machine=row.machine, glibc=row.glibc, task=TaskId(row.task_id), at=of_instant(row.at)
        )

    async def put(self, found: FoundMachine) -> None:
        """See `StoredFoundMachines.put`."""
        values = {"image": found.image, "machine": found.machine, "glibc": found.glibc, "task_id": found.task}
        await self._sql.put(FOUND_MACHINES, {**values, "at": to_instant(found.at)})


def _rule_values(rule: MountRule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "subject": rule.subject,
        "action": rule.action.value,
        "kind": None if rule.kind is None else rule.kind.value,
        "source": rule.source,
        "mount_path": rule.mount_path,
        "read_only": rule.read_only,
        "priority": rule.priority,
        "node_group": rule.node_group,
        "description": rule.description,
    }


def _rule_of(row: Row[Any]) -> MountRule:
    return MountRule(
        name=row.name,
        subject=row.subject,
        action=Action(row.action),
        kind=None if row.kind is None else MountKind(row.kind),
        source=row.source,
        mount_path=row.mount_path,
        read_only=row.read_only,
        priority=row.priority,
        node_group=row.node_group,
        description=row.description,
    )


def _environment_values(environment: Environment) -> dict[str, Any]:
    return {
        "name": environment.name,
        "image": environment.image,
        "python": environment.python,
        "variables": dict(environment.variables),
        "subjects": sorted(environment.subjects),
        "description": environment.description,
        "is_default": environment.default,
        "machine": environment.machine or None,
        "glibc": environment.glibc or None,
    }


def _environment_of(row: Row[Any]) -> Environment:
    return Environment(
        name=row.name,
        image=row.image,
        python=row.python,
        variables=row.variables,
        subjects=frozenset(row.subjects),
        description=row.description,
        default=row.is_default,
        machine=row.machine or "",
        glibc=row.glibc or "",
    )
