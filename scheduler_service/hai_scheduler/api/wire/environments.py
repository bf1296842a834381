"""Models of images and environments of haienv: the one list of both, and the builds of the latter."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.core.workspace.builds import MOST_REQUIREMENTS, BuildVerb
from hai_scheduler.service.shared.sent_as import by_word

EnvironmentKind = Literal["image", "haienv"]
BuildVerbName = Literal["create", "install", "uninstall", "rebuild", "rollback", "share", "unshare", "remove"]

_Path = Annotated[str, Field(max_length=4095)]
_Name = Annotated[str, Field(max_length=255)]
_Text = Annotated[str, Field(max_length=1000)]


class EnvironmentPut(Input):
    """Write an image as a whole."""

    #: Container image; null: the cluster's.
    image: Annotated[str, Field(max_length=512)] | None = None
    #: Absolute path of a Python program; null: the image sets none.
    python: Annotated[_Path | None, Field(json_schema_extra=shapes.ABSOLUTE)] = None
    #: Values may hold `{user}` and `{task}`, but no secrets: all users who may use the image can read them.
    variables: dict[str, Annotated[str, Field(max_length=32_768)]] = Field(
        default={}, max_length=200, json_schema_extra=shapes.VARIABLES
    )
    #: Who may use the image: `user:NAME`, `group:NAME`, `public`.
    subjects: Annotated[
        list[Annotated[str, Field(max_length=300, json_schema_extra=shapes.SUBJECT)]],
        Field(max_length=1000, json_schema_extra={"minItems": 1}),
    ]
    description: _Text = ""
    #: Whether its subjects get it when they choose none.
    default: bool = False
    #: The architecture of the image, such as x86_64, and its glibc, such as 2.31: submissions of environments that
    #: cannot run in it are refused. Empty: not known.
    machine: Annotated[str, Field(max_length=20)] = ""
    glibc: Annotated[str, Field(max_length=20)] = ""


class HaienvFacts(Output):
    """An environment of haienv: facts of one of its generations."""

    #: `users/ann`, `groups/cv` or `base`.
    owner: str
    #: The current generation; null: there is none that can be read.
    generation: int | None
    #: Its complete generations, in order; at most the last hundred.
    generations: list[int]
    #: The digest of the files of the generation.
    digest: str
    #: The version of Python, such as 3.11.7.
    python: str
    #: The version of CUDA that its packages are for.
    cuda: str | None
    files: int | None
    #: In bytes.
    size: int | None
    #: The generation that it extends, such as `base/torch@3`.
    extends: str | None
    built_by: str
    built_at: str
    #: Whether Jupyter offers it as a kernel.
    kernel: bool
    #: Whether there is a draft with changes that no generation has yet.
    draft: bool
    #: What is wrong with it; empty: nothing.
    trouble: str
    #: Whether the caller may have it built.
    may_build: bool


class EnvironmentOut(Output):
    """What a task can run in: an image, which admins set up, or an environment of haienv, which lives in one."""

    kind: EnvironmentKind = "image"
    #: The name of an image; the full name of an environment: `users/ann/vision`, `groups/cv/vision`, `base/torch`.
    name: str
    #: The name that means nothing else: `images/torch`, `users/ann/vision`.
    full_name: str = ""
    image: str | None
    #: Of an image: the path of its Python program.
    python: str | None
    #: Variables as they were written, with `{user}` and `{task}`.
    variables: dict[str, str]
    subjects: list[str]
    description: str
    default: bool
    #: Whether the caller gets it when the caller chooses none.
    chosen: bool
    #: Of an image: its architecture and its glibc, as far as an admin has given them; empty: not known.
    machine: str = ""
    glibc: str = ""
    #: The facts of an environment; null: it is an image.
    haienv: HaienvFacts | None = None
    #: Of an image: sent back in `If-Match`, it makes a change fail if the image has changed in the meantime.
    version: str = ""
    #: In the answer to a change: warnings on values that are probably mistakes.
    warnings: list[str] = Field(default=[])


class EnvironmentList(Output):
    """Images by name, then environments: the caller's own, their groups', base ones, those of others."""

    items: list[EnvironmentOut]
    #: The owners whose environments the caller may have built: `users/ann`, `groups/cv`, `base`.
    owners: list[str] = Field(default=[])
    #: The folder of all environments of haienv, as the service and tasks see it; null: there are none.
    root: str | None = None
    #: What is missing in the list, and why.
    warnings: list[str] = Field(default=[])


class EnvironmentDetail(EnvironmentOut):
    """One image, or one generation of an environment with its packages."""

    #: The generation that is shown.
    generation: int | None = None
    #: Versions by package.
    packages: dict[str, str] = Field(default={})
    #: The folder of its Python, as tasks see it.
    prefix: str | None = None


class EnvironmentQuery(Input):
    """Which environments to list."""

    #: For admins: also environments that the caller may not use.
    all: bool = False
    #: Those of this kind alone.
    kind: EnvironmentKind | None = None


class BuildSubmit(Input):
    """A change of an environment of haienv, which a task makes."""

    verb: Annotated[BuildVerb, by_word(BuildVerb, BuildVerbName)]
    #: `create`: the full name of an environment whose packages it has too, perhaps with a generation: `base/torch@3`.
    extend: _Name | None = None
    #: `create`: the version of Python, such as 3.11.
    python: Annotated[str, Field(max_length=20)] | None = None
    #: `create`: whether Jupyter offers it as a kernel.
    kernel: bool = True
    #: `create`: what it is for.
    description: _Text = ""
    #: `create`, `install`: requirements, such as `timm==1.0.20`. `uninstall`: names of packages.
    requirements: Annotated[list[_Text], Field(max_length=MOST_REQUIREMENTS)] = []
    #: `rollback`: the generation; null: the one before.
    generation: Annotated[int, Field(ge=1, lt=10**9)] | None = None
    #: `share`, `unshare`: groups, users, or everybody.
    groups: Annotated[tuple[_Name, ...], Field(max_length=100)] = ()
    users: Annotated[tuple[_Name, ...], Field(max_length=100)] = ()
    everyone: bool = False
