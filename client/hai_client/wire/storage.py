"""Mount rules and environments, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRule:
    """A mount rule."""

    name: str
    subject: str
    #: One of add, remove.
    action: str
    #: One of host_path, pvc.
    kind: str | None = None
    source: str
    mount_path: str
    read_only: bool
    priority: int
    node_group: str | None = None
    description: str
    #: In the answer to a change: warnings on values that are probably mistakes.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRuleList:
    """All mount rules, by name."""

    items: tuple[MountRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An environment."""

    name: str
    image: str | None = None
    python: str | None = None
    #: Variables as they were written, with `{user}` and `{task}`.
    variables: dict[str, str]
    subjects: tuple[str, ...]
    description: str
    default: bool
    #: Whether the caller gets it when the caller chooses none.
    chosen: bool
    #: In the answer to a change: warnings on values that are probably mistakes.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentList:
    """Environments, by name."""

    items: tuple[Environment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """One folder that a container sees; all placeholders are filled in."""

    #: Name of the mount rule that it comes from.
    rule: str
    #: One of host_path, pvc.
    kind: str
    #: The folder of the node, or the claim.
    source: str
    #: Folder in the claim; empty: all of it.
    sub_path: str
    mount_path: str
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """A mount path of a rule that a stronger rule overrules."""

    rule: str
    mount_path: str
    #: The reason, as a part of a sentence.
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEnvironment:
    """An environment as a container can have it."""

    name: str
    description: str
    image: str | None = None
    python: str | None = None
    #: Variables with all placeholders filled in; those that need a task are left out.
    variables: dict[str, str]
    #: Whether the user gets it when the user chooses none.
    default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerConfig:
    """What a development container of a user gets."""

    user: str
    groups: tuple[str, ...]
    node_group: str
    #: Folders by mount path, each before the folders below it.
    mounts: tuple[Mounted, ...]
    left_out: tuple[Overruled, ...]
    environments: tuple[ContainerEnvironment, ...]
    warnings: tuple[str, ...]
