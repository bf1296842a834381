"""Mount rules, fabrics, images, environments, snapshots and secrets, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime

from hai_client.backports import dataclass
from hai_client.wire.identities import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRule:
    """A mount rule."""

    name: str
    subject: str
    action: str  #: One of add, remove.
    kind: str | None = None  #: One of host_path, pvc.
    source: str
    mount_path: str
    read_only: bool
    priority: int
    node_group: str | None = None
    description: str
    version: str = ""  #: Sent back in `If-Match`, it makes a change fail if the rule has changed in the meantime.
    warnings: tuple[str, ...] = ()  #: In the answer to a change: warnings on values that are probably mistakes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """One folder that a container sees; all placeholders are filled in."""

    rule: str  #: Name of the mount rule that it comes from.
    kind: str  #: One of host_path, pvc.
    source: str  #: The folder of the node, or the claim.
    sub_path: str  #: Folder in the claim; empty: all of it.
    mount_path: str
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """A mount path of a rule that a stronger rule overrules."""

    rule: str
    mount_path: str
    why: str  #: The reason, as a part of a sentence.


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedMounts:
    """What a user sees on nodes of a group, by the mount rules."""

    user: str
    groups: tuple[str, ...]  #: The groups of the user that count.
    node_group: str
    mounts: tuple[Mounted, ...]  #: Folders by mount path, each before the folders below it.
    left_out: tuple[Overruled, ...]  #: Rules for the user that stronger rules overrule.
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRuleList:
    """All mount rules, by name."""

    items: tuple[MountRule, ...]
    #: What they mean for the user that was asked about; None: no user was named.
    resolved: ResolvedMounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEnvironment:
    """An environment as a container can have it."""

    name: str
    description: str
    image: str | None = None
    python: str | None = None
    variables: dict[str, str]  #: Variables with all placeholders filled in; those that need a task are left out.
    default: bool  #: Whether the user gets it when the user chooses none.


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerConfig:
    """What a development container of a user gets."""

    user: str
    groups: tuple[str, ...]
    node_group: str
    mounts: tuple[Mounted, ...]  #: Folders by mount path, each before the folders below it.
    left_out: tuple[Overruled, ...]
    environments: tuple[ContainerEnvironment, ...]
    warnings: tuple[str, ...]
    #: The folders of environments of haienv that it sees, below their root; None: all.
    haienvs: tuple[str, ...] | None = None
    identity: Identity | None = None  #: Who its processes are; None: the one account that the spawner's settings name.


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """A fabric."""

    group: str
    subject: str
    resources: dict[str, int]
    shared: bool
    annotations: dict[str, str]
    variables: dict[str, str]
    shm_bytes: int
    host_network: bool
    memlock_bytes: int
    single_node: bool
    description: str
    version: str = ""  #: Sent back in `If-Match`, it makes a change fail if the fabric has changed in the meantime.
    #: In the answer to a change: warnings on values that are probably mistakes, and on nodes that have too little.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricList:
    """Fabrics, by node group and subject."""

    items: tuple[Fabric, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricTried:
    """What a trial has found: no run would be refused for it."""

    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HaienvFacts:
    """An environment of haienv: facts of one of its generations."""

    owner: str  #: `users/ann`, `groups/cv` or `base`.
    generation: int | None = None  #: The current generation; None: there is none that can be read.
    generations: tuple[int, ...]  #: Its complete generations, in order; at most the last hundred.
    digest: str  #: The digest of the files of the generation.
    python: str  #: The version of Python, such as 3.11.7.
    cuda: str | None = None  #: The version of CUDA that its packages are for.
    files: int | None = None
    size: int | None = None  #: In bytes.
    extends: str | None = None  #: The generation that it extends, such as `base/torch@3`.
    built_by: str
    built_at: str
    kernel: bool  #: Whether Jupyter offers it as a kernel.
    draft: bool  #: Whether there is a draft with changes that no generation has yet.
    trouble: str  #: What is wrong with it; empty: nothing.
    may_build: bool  #: Whether the caller may have it built.


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What a task can run in: an image, which admins set up, or an environment of haienv, which lives in one."""

    kind: str = "image"  #: One of image, haienv.
    #: The name of an image; the full name of an environment: `users/ann/vision`, `groups/cv/vision`, `base/torch`.
    name: str
    full_name: str = ""  #: The name that means nothing else: `images/torch`, `users/ann/vision`.
    image: str | None = None
    python: str | None = None  #: Of an image: the path of its Python program.
    variables: dict[str, str]  #: Variables as they were written, with `{user}` and `{task}`.
    subjects: tuple[str, ...]
    description: str
    default: bool
    chosen: bool  #: Whether the caller gets it when the caller chooses none.
    #: Of an image: its architecture and its glibc, as far as an admin has given them; empty: not known.
    machine: str = ""
    glibc: str = ""
    haienv: HaienvFacts | None = None  #: The facts of an environment; None: it is an image.
    #: Of an image: sent back in `If-Match`, it makes a change fail if the image has changed in the meantime.
    version: str = ""
    warnings: tuple[str, ...] = ()  #: In the answer to a change: warnings on values that are probably mistakes.


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentList:
    """Images by name, then environments: the caller's own, their groups', base ones, those of others."""

    items: tuple[Environment, ...]
    #: The owners whose environments the caller may have built: `users/ann`, `groups/cv`, `base`.
    owners: tuple[str, ...] = ()
    #: The folder of all environments of haienv, as the service and tasks see it; None: there are none.
    root: str | None = None
    warnings: tuple[str, ...] = ()  #: What is missing in the list, and why.


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDetail(Environment):
    """One image, or one generation of an environment with its packages."""

    generation: int | None = None  #: The generation that is shown.
    packages: dict[str, str] = field(default_factory=dict)  #: Versions by package.
    prefix: str | None = None  #: The folder of its Python, as tasks see it.


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRules:
    """What a client needs to know before it takes a snapshot of a folder."""

    #: Whether tasks of the group start in a snapshot of their code: never, if users choose it, or always. One of off,
    #: offered, required.
    mode: str
    #: A text by which a client on the platform's own machine knows that tasks see its files; None: no client does.
    machine: str | None = None
    max_files: int  #: The most files and bytes of a snapshot, and bytes of a single file.
    max_bytes: int
    max_file_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotState:
    """How much of a snapshot the service has."""

    digest: str
    files: int  #: How many files and links it has, and the bytes of all files.
    size: int
    complete: bool  #: Whether everything is there, so that tasks can start in it.
    missing: tuple[str, ...]  #: The SHA-256 of each content that is missing, in the order of the manifest.


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSecret:
    """A secret of the caller, without its value, which nobody is shown."""

    name: str
    version: int  #: How often it was set.
    text: bool  #: Whether it can be a variable, as its value is UTF-8 without NUL; else it can be a file.
    redacted: bool  #: Whether it is looked for in logs: it has 8 bytes or more.
    set_at: datetime
    used_at: datetime | None = None  #: When a run has got it last, and the task of that run; None: none has.
    used_by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretList:
    """The caller's secrets, by name."""

    items: tuple[OwnSecret, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """What became of the secrets of all users after a change of keys."""

    resealed: int  #: How many were sealed again with the newest key, and how many were sealed with it before.
    already: int
    lost: int  #: How many no key opens, and some of them as `USER/NAME`: their users must set them again.
    lost_names: tuple[str, ...]
