"""Models of mount rules, and what a development container gets of them and of images."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, Json

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.api.wire.identities import IdentityOut
from hai_scheduler.core.workspace.mounts import Action, MountKind
from hai_scheduler.service.shared.sent_as import by_word

MountKindName = Literal["host_path", "pvc"]
MountActionName = Literal["add", "remove"]

_Path = Annotated[str, Field(max_length=4095)]
_Name = Annotated[str, Field(max_length=255)]
_Text = Annotated[str, Field(max_length=1000)]


class MountPut(Input):
    """Write a mount rule as a whole. Paths may hold `{user}`, `{task}` and, in rules for a group, `{group}`."""

    model_config = ConfigDict(json_schema_extra=shapes.MOUNT)

    #: `user:NAME`, `group:NAME` or `public`.
    subject: Annotated[str, Field(max_length=300, json_schema_extra=shapes.SUBJECT)]
    #: `remove`: folders that weaker rules mount there are not mounted.
    action: Annotated[Action, by_word(Action, MountActionName)] = Action.ADD
    #: What is mounted; null for `remove`.
    kind: Annotated[MountKind, by_word(MountKind, MountKindName)] | None = None
    #: `host_path`: a folder of the node. `pvc`: a claim, or `claim/folder in it`. Empty for `remove`.
    source: _Path = ""
    #: The path at which the container sees it.
    mount_path: Annotated[_Path, Field(json_schema_extra=shapes.ABSOLUTE)]
    read_only: bool = True
    #: Among rules for the same kind of subject the higher priority wins.
    priority: Annotated[int, Field(json_schema_extra=shapes.MOUNT_PRIORITY)] = 0
    #: The rule holds only on nodes of this group; null: on all nodes.
    node_group: Annotated[str, Field(max_length=128)] | None = None
    description: _Text = ""


class MountRuleOut(Output):
    """A mount rule."""

    name: str
    subject: str
    action: MountActionName
    kind: MountKindName | None
    source: str
    mount_path: str
    read_only: bool
    priority: int
    node_group: str | None
    description: str
    #: Sent back in `If-Match`, it makes a change fail if the rule has changed in the meantime.
    version: str = ""
    #: In the answer to a change: warnings on values that are probably mistakes.
    warnings: list[str] = Field(default=[])


class MountQuery(Input):
    """For whom the rules are resolved."""

    #: Name of a user: the answer also says what the user sees.
    user: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    #: The group of the nodes on which the user sees it.
    node_group: Annotated[str, Field(max_length=128)] = "jupyter"


class MountedOut(Output):
    """One folder that a container sees; all placeholders are filled in."""

    #: Name of the mount rule that it comes from.
    rule: str
    kind: MountKindName
    #: The folder of the node, or the claim.
    source: str
    #: Folder in the claim; empty: all of it.
    sub_path: str
    mount_path: str
    read_only: bool


class OverruledOut(Output):
    """A mount path of a rule that a stronger rule overrules."""

    rule: str
    mount_path: str
    #: The reason, as a part of a sentence.
    why: str


class ResolvedMounts(Output):
    """What a user sees on nodes of a group, by the mount rules."""

    user: str
    #: The groups of the user that count.
    groups: list[str]
    node_group: str
    #: Folders by mount path, each before the folders below it.
    mounts: list[MountedOut]
    #: Rules for the user that stronger rules overrule.
    left_out: list[OverruledOut]
    warnings: list[str]


class MountRuleList(Output):
    """All mount rules, by name."""

    items: list[MountRuleOut]
    #: What they mean for the user that was asked about; null: no user was named.
    resolved: ResolvedMounts | None = None


class ContainerEnvironment(Output):
    """An environment as a container can have it."""

    name: str
    description: str
    image: str | None
    python: str | None
    #: Variables with all placeholders filled in; those that need a task are left out.
    variables: dict[str, str]
    #: Whether the user gets it when the user chooses none.
    default: bool


class ContainerConfigOut(Output):
    """What a development container of a user gets."""

    user: str
    groups: list[str]
    node_group: str
    #: Folders by mount path, each before the folders below it.
    mounts: list[MountedOut]
    left_out: list[OverruledOut]
    environments: list[ContainerEnvironment]
    warnings: list[str]
    #: The folders of environments of haienv that it sees, below their root; null: all.
    haienvs: list[str] | None = None
    #: Who its processes are; null: the one account that the spawner's settings name.
    identity: IdentityOut | None = None


class ContainerQuery(Input):
    """Whose development container, and on which nodes."""

    #: Name of the user.
    user: Annotated[str, Field(min_length=1, max_length=255)]
    #: The user's groups as a JSON list of texts (default: the groups that the service last saw).
    groups: Json[Annotated[list[_Name], Field(max_length=1000)]] | None = None
    #: The group of the node that the container runs on.
    node_group: Annotated[str, Field(max_length=128)] = "jupyter"
