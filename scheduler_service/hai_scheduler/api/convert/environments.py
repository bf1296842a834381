"""Converts images and environments of haienv into models of the wire, and builds back."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hai_scheduler.api.wire.environments import (
    BuildSubmit,
    EnvironmentDetail,
    EnvironmentOut,
    HaienvFacts,
)
from hai_scheduler.core.workspace.builds import EnvironmentBuild, owner_of
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.ports.haienvs import HaienvDetail, ListedHaienv
from hai_scheduler.service.shared.versions import version_of
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
