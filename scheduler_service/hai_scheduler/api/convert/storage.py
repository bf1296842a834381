"""Converts mount rules and configurations of containers into models of the wire, and back."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.api.wire.storage import (
    ContainerConfigOut,
    ContainerEnvironment,
    MountedOut,
    MountPut,
    MountRuleOut,
    OverruledOut,
    ResolvedMounts,
)
from hai_scheduler.core.workspace.mounts import Action, MountKind, MountRule, Placed
from hai_scheduler.service.shared.versions import version_of
from hai_scheduler.service.workspace.runtime_env import ContainerView, EnvironmentOption


def rule_of(name: str, body: MountPut) -> MountRule:
    """Return the mount rule that a client writes."""
    return MountRule(
        name=name,
        subject=body.subject,
        action=Action(body.action),
        kind=None if body.kind is None else MountKind(body.kind),
        source=body.source,
        mount_path=body.mount_path,
        read_only=body.read_only,
        priority=body.priority,
        node_group=body.node_group,
        description=body.description,
    )


def rule_out(rule: MountRule, warnings: Sequence[str] = ()) -> MountRuleOut:
    """Return the model of a mount rule."""
    return MountRuleOut.model_validate(rule).model_copy(
        update={"warnings": list(warnings), "version": version_of(rule)}
    )


def container_config_out(view: ContainerView) -> ContainerConfigOut:
    """Return the model of what a development container gets."""
    return ContainerConfigOut(
        user=view.user,
        groups=list(view.groups),
        node_group=view.node_group,
        mounts=[_mounted(one) for one in view.resolution.placed],
        left_out=[OverruledOut.model_validate(one) for one in view.resolution.left_out],
        environments=[_offered(one) for one in view.offers],
        haienvs=None if view.haienvs is None else list(view.haienvs),
        warnings=list(view.warnings),
    )


def resolved_out(view: ContainerView) -> ResolvedMounts:
    """Return the model of what a user sees by the mount rules."""
    return ResolvedMounts(
        user=view.user,
        groups=list(view.groups),
        node_group=view.node_group,
        mounts=[_mounted(one) for one in view.resolution.placed],
        left_out=[OverruledOut.model_validate(one) for one in view.resolution.left_out],
        warnings=list(view.warnings),
    )


def _mounted(placed: Placed) -> MountedOut:
    mount = placed.mount
    return MountedOut(
        rule=placed.rule,
        kind=mount.kind.value,
        source=mount.source,
        sub_path=mount.sub_path,
        mount_path=mount.mount_path,
        read_only=mount.read_only,
    )


def _offered(offer: EnvironmentOption) -> ContainerEnvironment:
    found = offer.environment
    return ContainerEnvironment(
        name=found.name,
        description=found.description,
        image=found.image,
        python=found.python,
        variables=dict(offer.variables),
        default=offer.default,
    )
