"""Builds: changes of environments of haienv that the platform makes as tasks, and who may have them made.

A build is made from checked fields, and its command is a list of words: nothing of it is read by a shell, and no
package can be read as an option. The name of a build is kept in a variable of its task that only the service can set;
so a start knows a build, and gives it what other tasks do not get: the right to write below its owner's folder.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from hai_scheduler.core.model.limits import NAME, NAME_LENGTH
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.core.workspace.templates import Wrong

#: The variable of a build's task: the verb and the environment. It is one of the platform's own.
VARIABLE: Final = "HAI_BUILD"
#: The end of its value if an admin has asked for the build.
ADMINS: Final = " admin"
#: The program that builds.
PROGRAM: Final = "haienv"
#: The first tag of a build's task; the second one is the environment.
TAG: Final = "build"
BASE: Final = "base"
#: The most requirements of one build, and characters of one.
MOST_REQUIREMENTS: Final = 500
LONGEST_REQUIREMENT: Final = 1000

_FULL: Final = re.compile(rf"(?P<owner>base|groups/{NAME.pattern}|users/{NAME.pattern})/(?P<name>{NAME.pattern})")
_REFERENCE: Final = re.compile(rf"{_FULL.pattern}(@[1-9][0-9]{{0,8}})?")
_PYTHON: Final = re.compile(r"[0-9]{1,2}(\.[0-9]{1,3}){0,2}")
#: A requirement begins with the name of a package (PEP 508).
_PACKAGE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_REPOSITORY: Final = re.compile(r"@\s*(git|hg|svn|bzr)\+")
#: An option behind a requirement, as requirements files may have them.
_OPTION: Final = re.compile(r"\s-")


class BuildVerb(StrEnum):
    """What a build does."""

    CREATE = "create"
    INSTALL = "install"
    UNINSTALL = "uninstall"
    REBUILD = "rebuild"
    ROLLBACK = "rollback"
    SHARE = "share"
    UNSHARE = "unshare"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentBuild:
    """One change of an environment."""

    verb: BuildVerb
    #: The full name of the environment: `users/ann/vision`, `groups/cv/vision` or `base/torch`.
    environment: str
    #: `create`: the environment that it extends, by its full name, perhaps with a generation.
    extend: str | None = None
    #: `create`: the version of Python.
    python: str | None = None
    #: `create`: whether Jupyter offers it as a kernel.
    kernel: bool = True
    #: `create`: what it is for.
    description: str = ""
    #: `create`, `install`: requirements. `uninstall`: names of packages.
    requirements: tuple[str, ...] = ()
    #: `rollback`: the generation; None: the one before.
    generation: int | None = None
    #: `share`, `unshare`: with whom; everybody.
    groups: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    everyone: bool = False

    @property
    def owner(self) -> str:
        """The folder of the owner below the root: `users/ann`, `groups/cv` or `base`."""
        return owner_of(self.environment)

    def mark(self, *, admin: bool) -> str:
        """Return the value of `VARIABLE`; `admin`: an admin asks, who need not be in the group."""
        return f"{self.verb} {self.environment}{ADMINS if admin else ''}"

    @property
    def task_name(self) -> str:
        """The name of its task, such as `install-vision`."""
        return f"{self.verb}-{self.environment.rpartition('/')[2]}"[:NAME_LENGTH]

    def command(self) -> tuple[str, ...]:
        """Return the words of its command. Values of options are joined to them, so that none is read as an option."""
        name = self.environment
        words: list[str] = []
        if self.verb is BuildVerb.CREATE:
            words += [f"--extend={self.extend}"] if self.extend else []
            words += [f"--python={self.python}"] if self.python else []
            words += [] if self.kernel else ["--no-kernel"]
            words += [f"--description={self.description}"] if self.description else []
        elif self.verb is BuildVerb.ROLLBACK and self.generation is not None:
            name = f"{name}@{self.generation}"
        elif self.verb in (BuildVerb.SHARE, BuildVerb.UNSHARE):
            words += [f"--group={one}" for one in self.groups] + [f"--user={one}" for one in self.users]
            words += ["--all"] if self.everyone else []
        return (PROGRAM, str(self.verb), name, *words, *self.requirements)


def owner_of(environment: str) -> str:
    """Return the owner in a full name: `users/ann`, `groups/cv` or `base`."""
    return environment.rpartition("/")[0]


def checked(build: EnvironmentBuild) -> EnvironmentBuild:
    """Return a build whose fields are all possible ones, and belong to its verb. Raises Wrong."""
    if not _FULL.fullmatch(build.environment):
        raise Wrong(
            "name",
            build.environment[:80],
            f"{build.environment[:80]!r} is no environment: write NAME, base/NAME, groups/GROUP/NAME or"
            " users/USER/NAME",
        )
    _check_create(build)
    _check_packages(build)
    _check_shared(build)
    if build.generation is not None and (build.verb is not BuildVerb.ROLLBACK or not 1 <= build.generation < 10**9):
        raise Wrong("generation", build.generation, "is a number from 1, for rollback alone: leave it out")
    return build


def _check_create(build: EnvironmentBuild) -> None:
    given = {"extend": build.extend, "python": build.python, "description": build.description or None}
    for name, value in given.items():
        if value is not None and build.verb is not BuildVerb.CREATE:
            raise Wrong(name, value[:80], f"is for create: {build.verb} does not take it")
    if not build.kernel and build.verb is not BuildVerb.CREATE:
        raise Wrong("kernel", False, f"is for create: {build.verb} does not take it")
    if build.extend is not None and not _REFERENCE.fullmatch(build.extend):
        raise Wrong("extend", build.extend[:80], "write a full name, such as base/torch or base/torch@3")
    if build.python is not None and not _PYTHON.fullmatch(build.python):
        raise Wrong("python", build.python[:80], f"{build.python[:80]!r} is no version: write for example 3.11")
    if not build.description.isprintable():
        raise Wrong("description", None, "has characters that cannot be printed: write it in one line")


def _check_packages(build: EnvironmentBuild) -> None:
    given = build.requirements
    if build.verb in (BuildVerb.INSTALL, BuildVerb.UNINSTALL) and not given:
        raise Wrong("requirements", [], f"none is given for {build.verb}: write for example timm==1.0.20")
    if given and build.verb not in (BuildVerb.CREATE, BuildVerb.INSTALL, BuildVerb.UNINSTALL):
        raise Wrong("requirements", list(given[:1]), f"{build.verb} does not take any: leave them out")
    if len(given) > MOST_REQUIREMENTS:
        raise Wrong("requirements", len(given), f"give at most {MOST_REQUIREMENTS}")
    for one in given:
        check_requirement(one)
        if build.verb is BuildVerb.UNINSTALL and not _PACKAGE.fullmatch(one):
            raise Wrong("requirements", one[:80], f"{one[:80]!r} is no package: write its name alone")


def check_requirement(text: str) -> None:
    """Check a requirement before it is kept in a task. haienv checks it again, and more closely. Raises Wrong."""
    if not _PACKAGE.match(text) or _OPTION.search(text) or not text.isprintable() or len(text) > LONGEST_REQUIREMENT:
        raise Wrong(
            "requirements",
            text[:80],
            f"{text[:80]!r} is none: write for example timm==1.0.20, at most {LONGEST_REQUIREMENT} characters; options"
            " belong into `haienv config`",
        )
    if _REPOSITORY.search(text):
        raise Wrong(
            "requirements",
            text[:80],
            f"{text[:80]!r} comes from a repository and has no hash: publish a wheel of it on an index",
        )


def _check_shared(build: EnvironmentBuild) -> None:
    named = bool(build.groups or build.users or build.everyone)
    if build.verb in (BuildVerb.SHARE, BuildVerb.UNSHARE):
        if not named:
            raise Wrong("everyone", False, "nobody is named: give groups, users, or everyone: true")
    elif named:
        raise Wrong("groups", list(build.groups), f"groups, users and everyone are for share: {build.verb} takes none")
    for field, names in (("groups", build.groups), ("users", build.users)):
        for one in names:
            if not NAME.fullmatch(one):
                raise Wrong(field, one[:80], f"{one[:80]!r} is no name of a group or user")


def own_name(user: str, name: str) -> str:
    """Return the full name of an environment that a request names: a bare one is the user's own."""
    return name if "/" in name else f"users/{user}/{name}"


def refusal(owner: str, *, user: str, groups: Collection[str], builds_for: Collection[str], admin: bool) -> str | None:
    """Return why a user may not have an owner's environments built, in a sentence; None: they may.

    Args:
        owner: `users/ann`, `groups/cv` or `base`.
        user: The user.
        groups: The user's groups.
        builds_for: The groups for which the user has the right to build; it counts in groups of theirs alone.
        admin: Whether the user is an admin of the platform.
    """
    level, _, name = owner.partition("/")
    if level == "users":
        return None if name == user else f"{owner} belongs to {name}: nobody else builds there; make one of your own"
    if admin:
        return None
    if level == BASE:
        return "base environments are built by admins: make one of your own that extends it, or ask an admin"
    if name not in groups:
        return f"{owner} belongs to the group {name}, and {user} is not in it: ask its members"
    if name not in builds_for:
        return (
            f"{user} is in the group {name}, and has no right to build for it: an admin gives it by a role with the"
            f" scope custom:hai:environments!group={name}"
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTask:
    """What a stored task says of the build that it is."""

    environment: str
    #: Whether an admin asked for it, who need not be in the group.
    admin: bool

    @property
    def of_others(self) -> bool:
        """Whether the environment is neither its user's own nor a group's of theirs."""
        return self.admin or owner_of(self.environment) == BASE

    def refusal(self, user: str, groups: Collection[str]) -> str | None:
        """Return why the build may not start any more, in a sentence; None: it may."""
        level, _, name = owner_of(self.environment).partition("/")
        if level == "groups" and not self.admin and name not in groups:
            return f"environment {self.environment}: {user} is not in the group {name} any more"
        return None


def of_task(env: Mapping[str, str], command: Sequence[str]) -> BuildTask | None:
    """Return the build that a task is, by what is stored of it; None: it is none."""
    mark = env.get(VARIABLE, "")
    verb, _, environment = mark.removesuffix(ADMINS).partition(" ")
    if list(command[:2]) != [PROGRAM, verb] or not _FULL.fullmatch(environment):
        return None
    return BuildTask(environment=environment, admin=mark.endswith(ADMINS))


def extended(command: Sequence[str]) -> list[str]:
    """Return the environment that a build's command extends, perhaps with a generation; an empty list: none."""
    option = "--extend="
    return [word.removeprefix(option) for word in command if word.startswith(option)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """How builds run on this platform."""

    #: The account of builds for groups and for base: a Unix account's name, or on Kubernetes the number of a user.
    #: Empty: they run as the tasks of the user who asks.
    account: str = ""
    #: The image of all builds, with `haienv` in it; None: the one of the user's other tasks.
    image: str | None = None
    #: The node group that builds prefer.
    group: str = "jupyter"

    def account_for(self, environment: str) -> str | None:
        """Return the account that a build of an environment runs as; None: that of the user's tasks."""
        return None if environment.startswith("users/") else self.account or None


def writable(mounts: Sequence[Mount], root: str, owner: str) -> tuple[Mount, ...]:
    """Return the mounts of a build: its owner's folder can be written, and nothing else of the environments.

    Args:
        mounts: The mounts of the task.
        root: The folder of all environments.
        owner: `users/ann`, `groups/cv` or `base`.
    """
    place = f"{root.rstrip('/')}/{owner}"
    above = [one for one in mounts if f"{place}/".startswith(f"{one.mount_path.rstrip('/')}/")]
    if not above:
        return tuple(mounts)
    nearest = max(above, key=lambda one: len(one.mount_path.rstrip("/")))
    rest = place[len(nearest.mount_path.rstrip("/")) :].strip("/")
    if not rest:
        return tuple(replace(one, read_only=False) if one is nearest else one for one in mounts)
    if nearest.kind is MountKind.PVC:
        own = replace(nearest, sub_path="/".join(filter(None, (nearest.sub_path, rest))))
    else:
        own = replace(nearest, source=f"{nearest.source.rstrip('/')}/{rest}")
    made = [*mounts, replace(own, mount_path=place, read_only=False)]
    return tuple(sorted(made, key=lambda one: one.mount_path))


def places(nodes: Sequence[Node], wanted: str) -> list[tuple[str, int | None]]:
    """Return where a build may run, the best place first: node groups, and the GPUs to ask for (None: a whole node).

    First the wanted group, then groups without GPUs, then `training`, then the others; of a node with GPUs one GPU,
    which is the smallest size that it has.

    Args:
        nodes: All nodes.
        wanted: The group that builds prefer.
    """
    most: dict[str, int] = {}
    for node in nodes:
        most[node.group] = max(most.get(node.group, 0), node.gpus)
    order = sorted(most, key=lambda group: (group != wanted, most[group] > 0, group != "training", group))
    return [(group, 1 if most[group] else None) for group in order]
