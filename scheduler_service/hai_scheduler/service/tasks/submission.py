"""A task as its user describes it, and the values that follow from this description."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.leaving import Profile, ProfileName, Signal
from hai_scheduler.core.model.limits import MAX_RANKS_PER_NODE, MAX_RETRIES, MAX_TASK_SECRETS
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.core.model.task import Retry, TaskSpec
from hai_scheduler.core.workspace import builds
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.service.shared.sent_as import (
    AS_REFERENCE,
    AS_WRITTEN,
    BY_NAME,
    IN_SECONDS,
    IN_SOME_SECONDS,
    by_word,
)
from hai_scheduler.service.workspace.snapshot_ref import SnapshotRef


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The annotation of a field that needs nothing but its definition: see `asked_fields`."""

    #: Its name for users.
    label: str
    #: What it says, as a phrase.
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A task to submit."""

    # What follows is at once the body of the request: names, types, limits, defaults and comments of its fields.
    __pydantic_config__ = ConfigDict(title="TaskSubmit", extra="forbid")

    #: Letters and digits of any script, `.`, `_` and `-`, beginning with a letter or digit; not a number.
    name: Annotated[str, Field(max_length=128)]
    #: The program and its arguments.
    command: Annotated[tuple[str, ...], Field(min_length=1, max_length=1000)]
    #: The folder to start in, absolute.
    cwd: Annotated[str, Field(max_length=4096)]
    nodes: Annotated[int, Field(ge=1, le=100_000)] = 1
    #: GPUs on each of its nodes, which the task then shares with other such tasks; None: whole nodes.
    gpus: Annotated[int, Field(ge=1, le=100_000)] | None = None
    #: A level, or AUTO: the highest one that still has quota.
    priority: Annotated[Priority | None, BY_NAME] = Priority.NORMAL
    #: The node group.
    group: Annotated[str, Field(max_length=128)] = "training"
    #: Environment variables; names that the platform sets are refused.
    env: dict[str, str] = field(default_factory=dict)
    #: Secrets of the user that each run gets: `NAME` or `VARIABLE=NAME` as a variable, `PATH=NAME` as a file in memory.
    secrets: Annotated[tuple[Annotated[SecretRef, AS_REFERENCE], ...], Field(max_length=MAX_TASK_SECRETS)] = ()
    #: How the job is told to leave; with `auto` the platform finds out.
    profile: Annotated[Profile, by_word(Profile, ProfileName)] = Profile.AUTO
    #: The signal to send and, optionally, how many seconds before the deadline: `USR1@60`; None: the profile's.
    signal: Annotated[Signal, AS_WRITTEN] | None = None
    #: Seconds between the notice and its deadline; None: the group's default.
    grace: Annotated[Annotated[timedelta, IN_SECONDS] | None, Field(alias="grace_s")] = None
    #: Seconds of running after which the task is ended; None: no limit.
    time_limit: Annotated[Annotated[timedelta, IN_SOME_SECONDS] | None, Field(alias="time_limit_s")] = None
    #: Absolute path; None: a folder that the platform creates.
    checkpoint_dir: Annotated[str, Field(max_length=4096)] | None = None
    #: Paths, absolute or below cwd, whose changes count as checkpoints, beside changes in the folder for checkpoints.
    watch: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=4096)], ...], Field(max_length=20)] = ()
    tags: Annotated[tuple[Annotated[str, Field(max_length=128)], ...], Field(max_length=50)] = ()
    #: Whether to hold the task: it does not start until it is resumed.
    hold: bool = False
    #: How often the task is started again when its command fails.
    retries: Annotated[
        int, Field(ge=0, le=MAX_RETRIES), AskedFor("Retries", "how often it starts again if its command fails")
    ] = 0
    #: Seconds before the first retry; doubled before each further retry, up to a day.
    retry_backoff: Annotated[timedelta, IN_SECONDS, Field(alias="retry_backoff_s")] = timedelta(0)
    #: Exit statuses after which a retry is made; empty: any failure.
    retry_exit_codes: Annotated[tuple[Annotated[int, Field(ge=1, le=255)], ...], Field(max_length=255)] = ()
    #: What to run in: the name of an image (GET /environments) or `images/NAME`, or an environment of haienv by its
    #: bare name, its full name (`users/ann/vision`) or one of its generations (`vision@3`); None: the user's default
    #: image, else the platform's own.
    environment: Annotated[str, Field(max_length=256)] | None = None
    #: Whether each run takes the generation of the environment of haienv that is current at its start; else all runs
    #: use the generation that is current now.
    env_latest: bool = False
    #: The snapshot of its code, in which all runs start; None: they start in `cwd` as it is then.
    snapshot: SnapshotRef | None = None
    #: In the answer to `POST /tasks/parse`: the file asks for a snapshot of `cwd`. Who submits it has to send one, and
    #: to set `snapshot`.
    take_snapshot: bool | None = None
    #: How often the command runs on each node, with LOCAL_RANK and so on; `gpu`: once for each of its GPUs;
    #: None: once, and RANK counts nodes.
    ranks_per_node: Annotated[int, Field(strict=True, ge=1, le=MAX_RANKS_PER_NODE)] | Literal["gpu"] | None = None

    @property
    def retry(self) -> Retry | None:
        """What happens when the command fails; None: the task fails (H2)."""
        if not self.retries:
            return None
        codes = frozenset(self.retry_exit_codes)
        return Retry(count=self.retries, backoff=self.retry_backoff, exit_codes=codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSubmission(Submission):
    """The task of a build of an environment. Only the service makes one."""

    #: See `EnvironmentBuild.mark`.
    build: str


def build_of(submission: Submission) -> str | None:
    """Return the mark of the build that the task is; None: it is none."""
    return submission.build if isinstance(submission, BuildSubmission) else None


#: Fields of a specification that are those of the submission.
_SAME: Final = tuple(
    one.name
    for one in fields(TaskSpec)
    if one.name in {other.name for other in fields(Submission)} - {"env", "environment", "snapshot"}
)


def spec_of(
    submission: Submission,
    environment: Environment | None,
    pin: Pin | None = None,
    snapshot: CodeSnapshot | None = None,
    image: str | None = None,
    uid: int | None = None,
) -> TaskSpec:
    """The specification of the task.

    Args:
        submission: The submission.
        environment: Its image; None: the platform's own.
        pin: The generation of an environment of haienv that it runs with; None: none.
        snapshot: The snapshot of its code; None: none.
        image: The image of `environment` with its digest; None: its tag counts at each start.
        uid: The number of its user; None: the platform's one account.
    """
    same: dict[str, Any] = {name: getattr(submission, name) for name in _SAME}
    marked = {} if (mark := build_of(submission)) is None else {builds.VARIABLE: mark}
    return TaskSpec(
        **same,
        env=submission.env | marked,
        environment=None if environment is None else environment.name,
        image=image,
        haienv=pin,
        snapshot=snapshot,
        uid=uid,
    )


def digest_of(submission: Submission) -> str:
    """A digest of all fields of the submission, including defaults: equal submissions have equal digests."""
    said = {**asdict(submission), "env": sorted(submission.env.items())}
    return hashlib.sha256(json.dumps(said, default=str, sort_keys=True).encode()).hexdigest()
