"""Endpoints on what tasks can run in: images and environments of haienv, and builds of the latter."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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
    HaienvFacts,
)
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.tasks import TaskDetail
from hai_scheduler.core.workspace.builds import BuildVerb, EnvironmentBuild, own_name, owner_of
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.ports.haienvs import HaienvDetail, ListedHaienv
from hai_scheduler.service.shared.versions import version_of
from hai_scheduler.service.tasks.builds import owners_of
from hai_scheduler.service.workspace.image_environments import Listed
from hai_scheduler.service.workspace.pinning import IMAGES


def stored_out(environment: Environment) -> EnvironmentOut:
    """Return the model of an image without saying whether it is anybody's default."""
    return environment_out(Listed(environment=environment, chosen=False))


def environment_out(listed: Listed, warnings: Sequence[str] = ()) -> EnvironmentOut:
    """Return the model of an environment."""
    found = listed.environment
    return EnvironmentOut.of(
        found,
        kind="image",
        full_name=f"{IMAGES}{found.name}",
        subjects=sorted(found.subjects),
        chosen=listed.chosen,
        version=version_of(found),
        warnings=warnings,
    )


def haienv_out(found: ListedHaienv, owners: Collection[str]) -> EnvironmentOut:
    """Return the model of an environment; `owners` are those for whom the caller may build."""
    owner = owner_of(found.name)
    return EnvironmentOut(
        kind="haienv",
        name=found.name,
        full_name=found.name,
        image=None,
        python=None,
        variables={},
        subjects=[],
        description="",
        default=False,
        chosen=False,
        haienv=HaienvFacts.of(found, owner=owner, may_build=owner in owners),
    )


def detail_out(found: Listed | HaienvDetail, owners: Collection[str]) -> EnvironmentDetail:
    """Return the model of one image or environment."""
    if isinstance(found, Listed):
        return EnvironmentDetail.model_validate(environment_out(found).model_dump())
    facts = haienv_out(found.found, owners).model_dump()
    return EnvironmentDetail.model_validate(
        {**facts, "generation": found.generation, "packages": dict(found.packages), "prefix": found.prefix}
    )


def build_of(name: str, body: BuildSubmit) -> EnvironmentBuild:
    """Return the build of an environment, by its full name, that a client asks for."""
    requirements = tuple(one.strip() for one in body.requirements)
    return EnvironmentBuild(**dict(body) | {"requirements": requirements}, environment=name)


async def show_all(ask: Ask[EnvironmentQuery, Nothing]) -> EnvironmentList:
    """Return the images and environments that the caller may use, or all."""
    query, owners = ask.query, owners_of(ask.caller)
    found = await ask.platform.workspace.catalogue.show(ask.caller, everybodys=query.all, kind=query.kind)
    images = [environment_out(one) for one in found.images]
    haienvs = [haienv_out(one, owners) for one in found.haienvs]
    warnings = list(found.warnings)
    return EnvironmentList(items=[*images, *haienvs], owners=list(owners), root=found.root, warnings=warnings)


async def show(ask: Ask[Nothing, Nothing]) -> EnvironmentDetail:
    """Return what a name means for the caller, with its packages."""
    found = await ask.platform.workspace.catalogue.one(ask.caller, ask.path["environment"])
    return detail_out(found, owners_of(ask.caller))


async def put(ask: Ask[Nothing, EnvironmentPut]) -> EnvironmentOut:
    """Write an image."""
    body = dict(ask.body) | {"subjects": frozenset(ask.body.subjects)}
    environment = Environment(name=ask.path["environment"], **body)
    await ask.meet_subjects(ask.body.subjects)
    writing = ask.platform.workspace.images.put(ask.caller, environment, expected=expectation(ask.headers))
    return environment_out(*await showing(writing, stored_out))


async def delete(ask: Ask[Nothing, Nothing]) -> None:
    """Remove an image."""
    expected = expectation(ask.headers)
    deleting = ask.platform.workspace.images.delete(ask.caller, ask.path["environment"], expected=expected)
    await showing(deleting, stored_out)


async def build(ask: Ask[Nothing, BuildSubmit]) -> TaskDetail:
    """Submit the task that changes an environment."""
    key = tasks.key_of(ask.headers)
    name = own_name(ask.caller.name, ask.path["environment"])
    asked = build_of(name, ask.body)
    # A group is in a new name, or one to share with; of other builds the environment is there already.
    known = await ask.hub_groups() if asked.groups or asked.verb is BuildVerb.CREATE else None
    admitted = await ask.platform.tasks.builds.begin(ask.caller, asked, key=key, known=known)
    shown = await tasks.told_of(ask, admitted)
    return shown.model_copy(update={"warnings": await ask.platform.tasks.builds.warnings(asked, known)})
