"""A task as its user describes it, and what follows from the description alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta

from hai_scheduler.core.model.launching import RanksPerNode
from hai_scheduler.core.model.leaving import Profile, Signal
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Retry, TaskSpec
from hai_scheduler.core.workspace.environments import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A task as its user describes it."""

    name: str
    command: tuple[str, ...]
    #: Absolute.
    cwd: str
    nodes: int = 1
    #: GPUs on each of its nodes; None is whole nodes (U2).
    gpus: int | None = None
    #: None is AUTO (Q4).
    priority: Priority | None = Priority.NORMAL
    group: str = "training"
    env: Mapping[str, str] = field(default_factory=dict)
    profile: Profile = Profile.AUTO
    #: None: what the profile says.
    signal: Signal | None = None
    #: None takes the policy's default.
    grace: timedelta | None = None
    time_limit: timedelta | None = None
    checkpoint_dir: str | None = None
    #: Paths, absolute or below cwd, whose changes count as checkpoints too.
    watch: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    #: Submit it held.
    hold: bool = False
    #: None lets it fail when its command does (H2).
    retry: Retry | None = None
    #: None is the user's default.
    environment: str | None = None
    #: How often the command runs on each node; None is once, and its ranks are nodes.
    ranks_per_node: RanksPerNode = None


def spec_of(submission: Submission, environment: Environment | None) -> TaskSpec:
    """What such a task executes, in that environment; None is the platform's own."""
    return TaskSpec(
        command=submission.command,
        cwd=submission.cwd,
        env=dict(submission.env),
        checkpoint_dir=submission.checkpoint_dir,
        watch=submission.watch,
        environment=None if environment is None else environment.name,
        tags=submission.tags,
        ranks_per_node=submission.ranks_per_node,
    )


def digest_of(submission: Submission) -> str:
    """A digest of all that was asked for, defaults included: equal submissions have equal ones."""
    said = {**asdict(submission), "env": sorted(submission.env.items())}
    if submission.retry is not None:
        said["retry"]["exit_codes"] = sorted(submission.retry.exit_codes)
    return hashlib.sha256(json.dumps(said, default=str, sort_keys=True).encode()).hexdigest()
