"""The settings of the service as a frozen dataclass, without traitlets."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.workspace.builds import BuildSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSettings:
    """What the labels of metrics name."""

    #: The node groups that are named; empty: the first few that there are (core/tallies/families.py).
    groups: frozenset[str] = frozenset()
    #: Whether users are named.
    by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """The numbers of the service, as the configuration gives them."""

    #: The policy numbers of the configuration; admins change them at run time on top of it (policy_store.py).
    policy: Policies = field(default_factory=Policies)
    #: The policy numbers in the configuration, as (node group or None for all, name), even if they have the default.
    policy_written: frozenset[tuple[str | None, str]] = frozenset()
    #: Longest time between two ticks; rings make it shorter.
    tick_every: timedelta = timedelta(seconds=1)
    #: How long a leader that has died stays leader.
    lease_length: timedelta = timedelta(seconds=5)
    #: How long ended tasks, their logs and their history are kept.
    keep_ended: timedelta = timedelta(days=30)
    #: Unfinished tasks that a user may have.
    tasks_per_user: int = 10_000
    #: How many ranks are launched at once; among waiting runs, those of higher priority go first.
    starts_at_once: int = 16
    #: Ended tasks that are kept of each user; beyond it, the oldest are deleted early.
    ended_per_user: int = 20_000
    #: Bytes of the descriptions of a user's tasks. Unfinished tasks may not take more; ended ones are deleted early.
    bytes_per_user: int = 256 * 1024 * 1024
    #: Recordings of their tasks that each user may keep, and bytes of their traces; beyond it, the oldest are deleted.
    recordings_per_user: int = 20
    trace_bytes_per_user: int = 1024 * 1024 * 1024
    #: Lines of history that are kept of each task; beyond it, the oldest except the first are deleted.
    lines_per_task: int = 10_000
    #: Nodes that each user may hold at NORMAL and at each level below it on a new platform (quota/default.py); None is
    #: no limit at any level.
    default_quota: int | None = None
    #: How builds of environments run.
    builder: BuildSettings = field(default_factory=BuildSettings)
    #: What metrics name.
    labels: LabelSettings = field(default_factory=LabelSettings)
