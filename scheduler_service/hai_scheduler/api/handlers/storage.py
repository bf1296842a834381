"""Endpoints on mount rules, environments, and what a development container gets of them."""

from __future__ import annotations

from hai_scheduler.api.convert import storage as convert
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.storage import (
    ContainerConfigOut,
    ContainerQuery,
    EnvironmentList,
    EnvironmentOut,
    EnvironmentPut,
    EnvironmentQuery,
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


async def environments(ask: Ask[EnvironmentQuery, Nothing]) -> EnvironmentList:
    """Return the environments that the caller may use, or all."""
    found = await ask.services.environments.show(ask.caller, everybodys=ask.query.all)
    return EnvironmentList(items=[convert.environment_out(one) for one in found])


async def put_environment(ask: Ask[Nothing, EnvironmentPut]) -> EnvironmentOut:
    """Write an environment."""
    environment = convert.environment_of(ask.path["environment"], ask.body)
    return convert.environment_out(*await ask.services.environments.put(ask.caller, environment))


async def delete_environment(ask: Ask[Nothing, Nothing]) -> None:
    """Remove an environment."""
    await ask.services.environments.delete(ask.caller, ask.path["environment"])


async def container_config(ask: Ask[ContainerQuery, Nothing]) -> ContainerConfigOut:
    """Return what a development container of a user gets."""
    query = ask.query
    return convert.container_config_out(
        await ask.services.runtime_envs.container_view(query.user, query.groups, query.node_group)
    )
