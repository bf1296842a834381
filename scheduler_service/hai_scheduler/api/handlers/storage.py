"""Endpoints on mount rules, and what a development container gets of them."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.api.server.preconditions import expectation, showing
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.identities import IdentityOut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.storage import (
    ContainerConfigOut,
    ContainerEnvironment,
    ContainerQuery,
    MountedOut,
    MountPut,
    MountQuery,
    MountRuleList,
    MountRuleOut,
    ResolvedMounts,
)
from hai_scheduler.core.workspace.identity import Identity
from hai_scheduler.core.workspace.mounts import MountRule, Placed
from hai_scheduler.service.shared.archived_names import archived_sentence
from hai_scheduler.service.shared.errors import Forbidden
from hai_scheduler.service.shared.versions import version_of
from hai_scheduler.service.workspace.runtime_env import ContainerView, EnvironmentOption


def rule_out(rule: MountRule, warnings: Sequence[str] = ()) -> MountRuleOut:
    """Return the model of a mount rule."""
    return MountRuleOut.of(rule, warnings=warnings, version=version_of(rule))


def container_config_out(view: ContainerView, identity: Identity | None) -> ContainerConfigOut:
    """Return the model of what a development container gets, and who it is."""
    return ContainerConfigOut.of(
        view,
        mounts=[_mounted(one) for one in view.resolution.placed],
        left_out=view.resolution.left_out,
        environments=[_offered(one) for one in view.offers],
        identity=None if identity is None else IdentityOut.of(identity),
    )


def resolved_out(view: ContainerView) -> ResolvedMounts:
    """Return the model of what a user sees by the mount rules."""
    mounts = [_mounted(one) for one in view.resolution.placed]
    return ResolvedMounts.of(view, mounts=mounts, left_out=view.resolution.left_out)


def _mounted(placed: Placed) -> MountedOut:
    return MountedOut.of(placed.mount, rule=placed.rule)


def _offered(offer: EnvironmentOption) -> ContainerEnvironment:
    return ContainerEnvironment.of(offer.environment, variables=offer.variables, default=offer.default)


async def mounts(ask: Ask[MountQuery, Nothing]) -> MountRuleList:
    """Return all mount rules, and what they mean for a user if one is named."""
    rules = await ask.platform.workspace.mount_rules.show_all(ask.caller)
    user, resolved = ask.query.user, None
    if user is not None:
        await ask.meet([user])
        view = await ask.platform.workspace.runtime_envs.container_view(user, None, ask.query.node_group)
        resolved = resolved_out(view)
    return MountRuleList(items=[rule_out(rule) for rule in rules], resolved=resolved)


async def put_mount(ask: Ask[Nothing, MountPut]) -> MountRuleOut:
    """Write a mount rule."""
    rule = MountRule(name=ask.path["rule"], **dict(ask.body))
    await ask.meet_subjects([ask.body.subject])
    writing = ask.platform.workspace.mount_rules.put(ask.caller, rule, expected=expectation(ask.headers))
    return rule_out(*await showing(writing, rule_out))


async def delete_mount(ask: Ask[Nothing, Nothing]) -> None:
    """Remove a mount rule."""
    expected = expectation(ask.headers)
    deleting = ask.platform.workspace.mount_rules.delete(ask.caller, ask.path["rule"], expected=expected)
    await showing(deleting, rule_out)


async def container_config(ask: Ask[ContainerQuery, Nothing]) -> ContainerConfigOut:
    """Return what a development container of a user gets."""
    query = ask.query
    if await ask.platform.people.archiving.names.includes(query.user):
        raise Forbidden(archived_sentence(query.user))
    who = await ask.platform.workspace.identities.of(query.user)
    if who.why:
        raise Forbidden(who.why)
    view = await ask.platform.workspace.runtime_envs.container_view(query.user, query.groups, query.node_group)
    return container_config_out(view, who.identity)
