"""A task as its user describes it, and the values that follow from this description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta

from hai_scheduler.core.model.launching import RanksPerNode
from hai_scheduler.core.model.leaving import Profile, Signal
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Retry, TaskSpec
from hai_scheduler.core.workspace.environments import Environment


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
    #: How many processes of the command a launcher starts on each node; None: one, without a launcher.
    ranks_per_node: RanksPerNode = None


def spec_of(submission: Submission, environment: Environment | None, pin: Pin | None = None) -> TaskSpec:
    """The specification of the task.

    Args:
        submission: The submission.
        environment: Its image; None: the platform's own.
        pin: The generation of an environment of haienv that it runs with; None: none.
    """
    return TaskSpec(
        command=submission.command,
        cwd=submission.cwd,
        env=dict(submission.env),
        checkpoint_dir=submission.checkpoint_dir,
        watch=submission.watch,
        environment=None if environment is None else environment.name,
        haienv=pin,
        tags=submission.tags,
        ranks_per_node=submission.ranks_per_node,
    )


def digest_of(submission: Submission) -> str:
    """A digest of all fields of the submission, including defaults: equal submissions have equal digests."""
    said = {**asdict(submission), "env": sorted(submission.env.items())}
    if submission.retry is not None:
        said["retry"]["exit_codes"] = sorted(submission.retry.exit_codes)
    return hashlib.sha256(json.dumps(said, default=str, sort_keys=True).encode()).hexdigest()
