"""Mount rules and environments as the service sends them, as frozen dataclasses; see `hai_client.wire.schema`."""

from __future__ import annotations

from dataclasses import field

from hai_client.backports import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRule:
    """A mount rule: a folder that containers of its subject see, or (`action` remove) do not.

    `kind` is host_path or pvc, None where the rule removes; `node_group` None is all groups.
    """

    name: str
    subject: str
    action: str
    kind: str | None = None
    source: str = ""
    mount_path: str
    read_only: bool = True
    priority: int = 0
    node_group: str | None = None
    description: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRuleList:
    """All mount rules, by name."""

    items: tuple[MountRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An environment. `chosen`: it is what the caller gets when he chooses none."""

    name: str
    image: str | None = None
    python: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    subjects: tuple[str, ...] = ()
    description: str = ""
    default: bool = False
    chosen: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentList:
    """Environments, by name."""

    items: tuple[Environment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """One folder that a container sees, and the rule that it comes from; nothing is left to fill in."""

    rule: str
    kind: str
    source: str
    sub_path: str = ""
    mount_path: str
    read_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """What a rule says of a mount path and a stronger one overrules."""

    rule: str
    mount_path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """An environment as a container can have it, its variables filled in."""

    name: str
    description: str = ""
    image: str | None = None
    python: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What a development container of a user gets."""

    user: str
    groups: tuple[str, ...] = ()
    node_group: str
    mounts: tuple[Mounted, ...] = ()
    left_out: tuple[Overruled, ...] = ()
    environments: tuple[Offered, ...] = ()
    warnings: tuple[str, ...] = ()
