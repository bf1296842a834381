"""Resolves the environment and the mounts of a task or a development container.

A submission names an environment; each launch resolves that name and the mount rules again. A name or a rule that
cannot be resolved is an error and never replaced by a default.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.workspace.environments import Environment, default_of, usable, variables_of
from hai_scheduler.core.workspace.fabrics import Fabric, fabric_of, gets
from hai_scheduler.core.workspace.mounts import Mount, MountRule, Resolution, explain
from hai_scheduler.core.workspace.templates import TemplateError, Unresolvable
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.workspace.fabrics import groups_of
from hai_scheduler.service.workspace.pinning import Choice, Pinning
from hai_scheduler.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeEnv:
    """The image, Python, variables, mounts and network that a run gets beside its specification."""

    #: The image of the environment; None: the cluster's default.
    image: str | None = None
    python: str | None = None
    #: The variables of the fabric, under those of the environment; the user's own variables override both.
    variables: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    fabric: Fabric | None = None
    #: The groups of the task's user.
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentOption:
    """An environment that a development container can use."""

    environment: Environment
    #: The resolved variables, without those that need a task.
    variables: Mapping[str, str]
    #: Whether it is used when the user chooses none.
    default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerView:
    """The mounts and environments of a user's development container."""

    user: str
    groups: Sequence[str]
    node_group: str
    resolution: Resolution
    offers: Sequence[EnvironmentOption]
    warnings: Sequence[str]
    #: The folders of environments of haienv that it sees, below their root; None: all.
    haienvs: Sequence[str] | None = None


@dataclass(slots=True, eq=False)
class RuntimeEnvs(UseCase):
    """The use cases that resolve environments and mount rules for tasks and development containers."""

    pinning: Pinning

    async def meaning(self, caller: Caller, name: str | None, env: Mapping[str, str], *, latest: bool) -> Choice:
        """What a submission runs in by the name of an environment or image, and by its variables. Raises Invalid."""
        async with self.store.read() as tx:
            images = await tx.environments.all()
            groups = caller.groups or await groups_of(tx, caller.name)
        return await self.pinning.choose(images, caller.name, groups, name, env, latest=latest)

    async def choose(self, caller: Caller, name: str | None) -> Environment | None:
        """The environment of that name or, without a name, the caller's default; None is the platform's own.

        Raises Invalid for an environment that does not exist or that the caller may not use.
        """
        async with self.store.read() as tx:
            environments = await tx.environments.all()
            groups = caller.groups or await groups_of(tx, caller.name)
        return chosen(environments, caller.name, groups, name)

    async def at_launch(self, tx: Tx, task: Task, spec: TaskSpec) -> RuntimeEnv:
        """The environment and mounts of the task's next run. Raises Unresolvable."""
        rules, fabrics = await tx.mount_rules.all(), await tx.fabrics.all()
        if not rules and not fabrics and spec.environment is None and self.pinning.haienvs is None:
            return RuntimeEnv()
        groups = await groups_of(tx, task.user)
        mounts = _resolve(rules, task.user, groups, task.id, task.group).mounts
        fabric = fabric_of(fabrics, task.group, task.user, groups)
        if fabric is not None and not gets(fabric, nodes=task.nodes, whole=not task.gpus):
            fabric = None
        variables = {} if fabric is None else fabric.variables
        if spec.environment is None:
            return RuntimeEnv(variables=variables, mounts=mounts, fabric=fabric, groups=groups)
        environment = _still_there(await tx.environments.all(), spec.environment, task.user, groups)
        return RuntimeEnv(
            # What the task began with is what it goes on with, whatever the name means now.
            image=spec.image or environment.image,
            python=environment.python,
            variables={**variables, **_variables(environment, task.user, task.id)},
            mounts=mounts,
            fabric=fabric,
            groups=groups,
        )

    async def container_view(self, user: str, groups: Collection[str] | None, node_group: str) -> ContainerView:
        """The mounts and environments of a user's development container; groups None: those last seen of the user.

        Raises Invalid for a user name that cannot be part of a path in a rule.
        """
        async with self.store.read() as tx:
            rules, environments = await tx.mount_rules.all(), await tx.environments.all()
            record = next((one for one in await tx.users.all() if one.name == user), None)
        warnings = []
        if groups is None:
            groups = record.groups if record is not None else frozenset()
            if record is None:
                warnings.append(f"HAI has never seen a user {user!r}, so their groups are unknown: check the spelling")
        try:
            resolution = _resolve(rules, user, groups, None, node_group)
            offers = _offers(environments, user, groups)
        except Unresolvable as error:
            raise Invalid("user", user, f"{error}: change the rule, or the name") from None
        return ContainerView(
            user=user,
            groups=sorted(groups),
            node_group=node_group,
            resolution=resolution,
            offers=offers,
            warnings=warnings,
            haienvs=await self._haienvs_of(user, groups),
        )

    async def _haienvs_of(self, user: str, groups: Collection[str]) -> tuple[str, ...] | None:
        haienvs = self.pinning.haienvs
        return None if haienvs is None else await haienvs.seen(user, groups, shared=True)


def chosen(
    environments: Sequence[Environment], user: str, groups: Collection[str], name: str | None
) -> Environment | None:
    """The environment of that name or, without a name, the user's default; None is the platform's own.

    Raises Invalid for an environment that does not exist or that the user may not use.
    """
    if name is None:
        return default_of(environments, user, groups)
    mine = usable(environments, user, groups)
    found = next((one for one in mine if one.name == name), None)
    if found is None:
        message = f"there is no environment {name!r} that you may use: {_choice(mine)}, or leave it out"
        raise Invalid("environment", name, message)
    return found


def _still_there(environments: Iterable[Environment], name: str, user: str, groups: Collection[str]) -> Environment:
    known = list(environments)
    mine = usable(known, user, groups)
    found = next((one for one in mine if one.name == name), None)
    if found is not None:
        return found
    gone = f"{user} may no longer use it" if any(one.name == name for one in known) else "it was removed"
    raise Unresolvable(
        f"environment {name!r}: {gone}; ask an admin to give it back, or submit the task again: {_choice(mine)}"
    )


def _choice(mine: Sequence[Environment]) -> str:
    names = ", ".join(one.name for one in mine)
    return f"choose one of {names}" if names else "there is none to choose"


def _offers(environments: Iterable[Environment], user: str, groups: Collection[str]) -> list[EnvironmentOption]:
    known = list(environments)
    default = default_of(known, user, groups)
    return [
        EnvironmentOption(environment=one, variables=_variables(one, user, None), default=one == default)
        for one in usable(known, user, groups)
    ]


def _resolve(
    rules: Iterable[MountRule], user: str, groups: Collection[str], task_id: TaskId | None, node_group: str
) -> Resolution:
    """The mounts as the core resolves them; a stored rule that this version would not accept is Unresolvable."""
    try:
        return explain(rules, user, groups, task_id, node_group)
    except TemplateError as error:
        raise Unresolvable(f"a mount rule is damaged, an admin must write it again: {error}") from None


def _variables(environment: Environment, user: str, task_id: TaskId | None) -> dict[str, str]:
    try:
        return variables_of(environment, user, task_id)
    except TemplateError as error:
        damaged = f"environment {environment.name!r} is damaged, an admin must write it again: {error}"
        raise Unresolvable(damaged) from None
