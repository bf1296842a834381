"""Converts mount rules and configurations of containers into models of the wire, and back."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.api.wire.storage import (
    ContainerConfigOut,
    ContainerEnvironment,
    MountedOut,
    MountRuleOut,
    ResolvedMounts,
)
from hai_scheduler.core.workspace.mounts import MountRule, Placed
from hai_scheduler.service.shared.versions import version_of
from hai_scheduler.service.workspace.runtime_env import ContainerView, EnvironmentOption


def rule_out(rule: MountRule, warnings: Sequence[str] = ()) -> MountRuleOut:
    """Return the model of a mount rule."""
    return MountRuleOut.of(rule, warnings=warnings, version=version_of(rule))


def container_config_out(view: ContainerView) -> ContainerConfigOut:
    """Return the model of what a development container gets."""
    return ContainerConfigOut.of(
        view,
        mounts=[_mounted(one) for one in view.resolution.placed],
        left_out=view.resolution.left_out,
        environments=[_offered(one) for one in view.offers],
    )


def resolved_out(view: ContainerView) -> ResolvedMounts:
    """Return the model of what a user sees by the mount rules."""
    mounts = [_mounted(one) for one in view.resolution.placed]
    return ResolvedMounts.of(view, mounts=mounts, left_out=view.resolution.left_out)


def _mounted(placed: Placed) -> MountedOut:
    return MountedOut.of(placed.mount, rule=placed.rule)


def _offered(offer: EnvironmentOption) -> ContainerEnvironment:
    return ContainerEnvironment.of(offer.environment, variables=offer.variables, default=offer.default)
