"""Endpoints on mount rules, and what a development container gets of them."""

from __future__ import annotations

from hai_scheduler.api.convert import storage as convert
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.storage import (
    ContainerConfigOut,
    ContainerQuery,
    MountPut,
    MountRuleList,
    MountRuleOut,
)


async def mounts(ask: Ask[Nothing, Nothing]) -> MountRuleList:
    """Return all mount rules."""
    rules = await ask.services.mount_rules.show_all(ask.caller)
    return MountRuleList(items=[convert.rule_out(rule) for rule in rules])


async def put_mount(ask: Ask[Nothing, MountPut]) -> MountRuleOut:
    """Write a mount rule."""
    rule = convert.rule_of(ask.path["rule"], ask.body)
    return convert.rule_out(*await ask.services.mount_rules.put(ask.caller, rule))


async def delete_mount(ask: Ask[Nothing, Nothing]) -> None:
    """Remove a mount rule."""
    await ask.services.mount_rules.delete(ask.caller, ask.path["rule"])


async def container_config(ask: Ask[ContainerQuery, Nothing]) -> ContainerConfigOut:
    """Return what a development container of a user gets."""
    query = ask.query
    return convert.container_config_out(
        await ask.services.runtime_envs.container_view(query.user, query.groups, query.node_group)
    )
