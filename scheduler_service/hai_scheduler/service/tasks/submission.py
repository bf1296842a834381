"""A task as its user describes it, and the values that follow from this description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta

from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.launching import RanksPerNode
from hai_scheduler.core.model.leaving import Profile, Signal
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Retry, TaskSpec
from hai_scheduler.core.workspace import builds
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.service.workspace.code_snapshots import SnapshotRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A task as its user describes it."""

    name: str
    command: tuple[str, ...]
    #: The working directory, an absolute path.
    cwd: str
    nodes: int = 1
    #: GPUs of each node; None is whole nodes (U2).
    gpus: int | None = None
    #: The priority asked for; None is AUTO (Q4).
    priority: Priority | None = Priority.NORMAL
    group: str = "training"
    env: Mapping[str, str] = field(default_factory=dict)
    profile: Profile = Profile.AUTO
    #: The signal of a notice; None: the one of the profile.
    signal: Signal | None = None
    #: Time to save after a notice; None: the policy's default.
    grace: timedelta | None = None
    time_limit: timedelta | None = None
    checkpoint_dir: str | None = None
    #: Paths, absolute or below cwd, whose changes count as checkpoints too.
    watch: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    #: Whether the task is held from the beginning.
    hold: bool = False
    #: What happens when the command fails; None: the task fails (H2).
    retry: Retry | None = None
    #: The name of an image, or of an environment of haienv; None is the user's default image.
    environment: str | None = None
    #: Whether an environment of haienv is looked up by its name at each start, instead of pinned now.
    env_latest: bool = False
    #: The snapshot of its code; None: it starts in `cwd` as that is then.
    snapshot: SnapshotRef | None = None
    #: Whether the client is to take a snapshot of `cwd` before it submits this, as an experiment file may say.
    take_snapshot: bool | None = None
    #: How many processes of the command a launcher starts on each node; None: one, without a launcher.
    ranks_per_node: RanksPerNode = None
    #: The build that the task is, as `EnvironmentBuild.mark`; only the service makes such a submission.
    build: str | None = None


def spec_of(
    submission: Submission,
    environment: Environment | None,
    pin: Pin | None = None,
    snapshot: CodeSnapshot | None = None,
    image: str | None = None,
) -> TaskSpec:
    """The specification of the task.

    Args:
        submission: The submission.
        environment: Its image; None: the platform's own.
        pin: The generation of an environment of haienv that it runs with; None: none.
        snapshot: The snapshot of its code; None: none.
        image: The image of `environment` with its digest; None: its tag counts at each start.
    """
    return TaskSpec(
        command=submission.command,
        cwd=submission.cwd,
        env=dict(submission.env) | ({} if submission.build is None else {builds.VARIABLE: submission.build}),
        checkpoint_dir=submission.checkpoint_dir,
        watch=submission.watch,
        environment=None if environment is None else environment.name,
        image=image,
        haienv=pin,
        snapshot=snapshot,
        tags=submission.tags,
        ranks_per_node=submission.ranks_per_node,
    )


def digest_of(submission: Submission) -> str:
    """A digest of all fields of the submission, including defaults: equal submissions have equal digests."""
    said = {**asdict(submission), "env": sorted(submission.env.items())}
    if submission.build is None:
        # The digests of ordinary tasks stay what they were.
        del said["build"]
    if submission.retry is not None:
        said["retry"]["exit_codes"] = sorted(submission.retry.exit_codes)
    return hashlib.sha256(json.dumps(said, default=str, sort_keys=True).encode()).hexdigest()
