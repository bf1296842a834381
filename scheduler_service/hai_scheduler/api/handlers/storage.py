"""Endpoints on mount rules, and what a development container gets of them."""

from __future__ import annotations

from hai_scheduler.api.convert import storage as convert
from hai_scheduler.api.server.preconditions import expectation, showing
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.storage import (
    ContainerConfigOut,
    ContainerQuery,
    MountPut,
    MountQuery,
    MountRuleList,
    MountRuleOut,
)
from hai_scheduler.core.workspace.mounts import MountRule
from hai_scheduler.service.shared.archived_names import archived_sentence
from hai_scheduler.service.shared.errors import Forbidden


async def mounts(ask: Ask[MountQuery, Nothing]) -> MountRuleList:
    """Return all mount rules, and what they mean for a user if one is named."""
    rules = await ask.platform.workspace.mount_rules.show_all(ask.caller)
    user, resolved = ask.query.user, None
    if user is not None:
        await ask.meet([user])
        view = await ask.platform.workspace.runtime_envs.container_view(user, None, ask.query.node_group)
        resolved = convert.resolved_out(view)
    return MountRuleList(items=[convert.rule_out(rule) for rule in rules], resolved=resolved)


async def put_mount(ask: Ask[Nothing, MountPut]) -> MountRuleOut:
    """Write a mount rule."""
    rule = MountRule(name=ask.path["rule"], **dict(ask.body))
    await ask.meet_subjects([ask.body.subject])
    writing = ask.platform.workspace.mount_rules.put(ask.caller, rule, expected=expectation(ask.headers))
    return convert.rule_out(*await showing(writing, convert.rule_out))


async def delete_mount(ask: Ask[Nothing, Nothing]) -> None:
    """Remove a mount rule."""
    expected = expectation(ask.headers)
    deleting = ask.platform.workspace.mount_rules.delete(ask.caller, ask.path["rule"], expected=expected)
    await showing(deleting, convert.rule_out)


async def container_config(ask: Ask[ContainerQuery, Nothing]) -> ContainerConfigOut:
    """Return what a development container of a user gets."""
    query = ask.query
    if await ask.platform.people.archiving.names.includes(query.user):
        raise Forbidden(archived_sentence(query.user))
    return convert.container_config_out(
        await ask.platform.workspace.runtime_envs.container_view(query.user, query.groups, query.node_group)
    )
