"""Mount rules and environments: small tables that are read whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, delete, select

from hai_scheduler.adapters.sql.looking import LookingPart
from hai_scheduler.adapters.sql.tables import ENVIRONMENTS, MOUNT_RULES
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import Action, MountKind, MountRule

# Made once: to build a statement costs as much as to execute it.
_MOUNT_RULES, _ENVIRONMENTS = select(MOUNT_RULES), select(ENVIRONMENTS)


class WorkspacePart(LookingPart):
    """The part of a transaction that deals with mount rules and environments.

    Lists are sorted here, not by the database, whose order depends on its locale.
    """

    async def mount_rules(self) -> Sequence[MountRule]:
        """See `Tx.mount_rules`."""
        return list(await self._facts("mount_rules", self._read_mount_rules))

    async def _read_mount_rules(self) -> Sequence[MountRule]:
        rows = await self._ask(_MOUNT_RULES)
        return sorted((_rule_of(row) for row in rows), key=lambda rule: rule.name)

    async def put_mount_rule(self, rule: MountRule) -> None:
        """See `Tx.put_mount_rule`."""
        await self._changes("mount_rules")
        await self._put(MOUNT_RULES, _rule_values(rule))

    async def delete_mount_rule(self, name: str) -> bool:
        """See `Tx.delete_mount_rule`."""
        await self._changes("mount_rules")
        return (await self._change(delete(MOUNT_RULES).where(MOUNT_RULES.c.name == name))).rowcount > 0

    async def environments(self) -> Sequence[Environment]:
        """See `Tx.environments`."""
        known = await self._facts("environments", self._read_environments)
        # Copies, because the cached environments must not be changed by callers.
        return [replace(environment, variables=dict(environment.variables)) for environment in known]

    async def _read_environments(self) -> Sequence[Environment]:
        rows = await self._ask(_ENVIRONMENTS)
        return sorted((_environment_of(row) for row in rows), key=lambda environment: environment.name)

    async def put_environment(self, environment: Environment) -> None:
        """See `Tx.put_environment`."""
        await self._changes("environments")
        await self._put(ENVIRONMENTS, _environment_values(environment))

    async def delete_environment(self, name: str) -> bool:
        """See `Tx.delete_environment`."""
        await self._changes("environments")
        return (await self._change(delete(ENVIRONMENTS).where(ENVIRONMENTS.c.name == name))).rowcount > 0


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
    )
