"""The service's numbers, below traitlets: plain and frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from hai_scheduler.core.model.policy import Policies


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How the service behaves around the core."""

    #: The policy numbers of the configuration; admins change them at run time on top of it (policy/book.py).
    policy: Policies = field(default_factory=Policies)
    #: Which of them the configuration writes, as node group (None: all) and name, even if it writes the default.
    policy_written: frozenset[tuple[str | None, str]] = frozenset()
    #: Longest time between two ticks; rings make it shorter.
    tick_every: timedelta = timedelta(seconds=1)
    #: How long a leader that has died stays leader.
    lease_length: timedelta = timedelta(seconds=5)
    #: How long ended tasks, their logs and their history are kept.
    keep_ended: timedelta = timedelta(days=30)
    #: Unfinished tasks that a user may have.
    tasks_per_user: int = 10_000
    #: How many ranks are being launched at once: more urgent runs go before those that still wait.
    starts_at_once: int = 16
    #: Ended tasks that are kept of a user: beyond it the oldest are forgotten early.
    ended_per_user: int = 20_000
    #: Bytes of the descriptions of a user's tasks. Unfinished ones may not take more; ended ones are forgotten early.
    bytes_per_user: int = 256 * 1024 * 1024
    #: Lines of history that are kept of a task: beyond it the oldest but the first are forgotten.
    lines_per_task: int = 10_000
    #: Nodes that each user may hold at NORMAL and at each level below it on a new platform (quota/default.py); None is
    #: no limit at any level.
    default_quota: int | None = None
