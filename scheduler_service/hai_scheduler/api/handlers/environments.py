"""Endpoints on what tasks can run in: images and environments of haienv, and builds of the latter."""

from __future__ import annotations

from hai_scheduler.api.convert import environments as convert
from hai_scheduler.api.handlers import tasks
from hai_scheduler.api.server.preconditions import expectation, showing
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.environments import (
    BuildSubmit,
    EnvironmentDetail,
    EnvironmentList,
    EnvironmentOut,
    EnvironmentPut,
    EnvironmentQuery,
)
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.tasks import TaskDetail
from hai_scheduler.core.workspace.builds import BuildVerb, own_name
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.service.tasks.builds import owners_of


async def show_all(ask: Ask[EnvironmentQuery, Nothing]) -> EnvironmentList:
    """Return the images and environments that the caller may use, or all."""
    query, owners = ask.query, owners_of(ask.caller)
    found = await ask.platform.workspace.catalogue.show(ask.caller, everybodys=query.all, kind=query.kind)
    images = [convert.environment_out(one) for one in found.images]
    haienvs = [convert.haienv_out(one, owners) for one in found.haienvs]
    warnings = list(found.warnings)
    return EnvironmentList(items=[*images, *haienvs], owners=list(owners), root=found.root, warnings=warnings)


async def show(ask: Ask[Nothing, Nothing]) -> EnvironmentDetail:
    """Return what a name means for the caller, with its packages."""
    found = await ask.platform.workspace.catalogue.one(ask.caller, ask.path["environment"])
    return convert.detail_out(found, owners_of(ask.caller))


async def put(ask: Ask[Nothing, EnvironmentPut]) -> EnvironmentOut:
    """Write an image."""
    body = dict(ask.body) | {"subjects": frozenset(ask.body.subjects)}
    environment = Environment(name=ask.path["environment"], **body)
    await ask.meet_subjects(ask.body.subjects)
    writing = ask.platform.workspace.images.put(ask.caller, environment, expected=expectation(ask.headers))
    return convert.environment_out(*await showing(writing, convert.stored_out))


async def delete(ask: Ask[Nothing, Nothing]) -> None:
    """Remove an image."""
    expected = expectation(ask.headers)
    deleting = ask.platform.workspace.images.delete(ask.caller, ask.path["environment"], expected=expected)
    await showing(deleting, convert.stored_out)


async def build(ask: Ask[Nothing, BuildSubmit]) -> TaskDetail:
    """Submit the task that changes an environment."""
    key = tasks.key_of(ask.headers)
    name = own_name(ask.caller.name, ask.path["environment"])
    asked = convert.build_of(name, ask.body)
    # A group is in a new name, or one to share with; of other builds the environment is there already.
    known = await ask.hub_groups() if asked.groups or asked.verb is BuildVerb.CREATE else None
    admitted = await ask.platform.tasks.builds.begin(ask.caller, asked, key=key, known=known)
    shown = await tasks.told_of(ask, admitted)
    return shown.model_copy(update={"warnings": await ask.platform.tasks.builds.warnings(asked, known)})
