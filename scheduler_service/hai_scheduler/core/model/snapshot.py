"""The snapshot: everything that a plan is made from, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node, Strike
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.task import Task


class BrokenSnapshot(AssertionError):
    """A snapshot contradicts itself: a bug of the service, never a mistake of a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The cluster, its tasks and quota at one moment."""

    now: datetime
    nodes: tuple[Node, ...]
    #: Every task that has not ended.
    tasks: tuple[Task, ...]
    quotas: tuple[Quota, ...] = ()
    #: Decayed use of each user and node group by runs that have ended (O3).
    uses: tuple[Usage, ...] = ()
    #: Recent failures on nodes for reasons that were not the users' (H3).
    strikes: tuple[Strike, ...] = ()
    #: The user groups of each user.
    groups_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Users in a group whose budget is used up: their waiting tasks count as LOW (Q7).
    counted_low: frozenset[str] = frozenset()
    #: How much longer each task will run, for disciplines that need to know it (SJF, SRTF); empty in production.
    remaining: Mapping[TaskId, timedelta] = field(default_factory=dict)
    #: Whether the platform is paused: no task starts, and every run is told to leave.
    paused: bool = False
    #: While paused: the longest grace of any task; None leaves each task its own grace.
    pause_grace: timedelta | None = None

    def check(self) -> None:
        """Raise BrokenSnapshot unless the invariants hold: names are unique, no GPU is held by two runs (B4, U2)."""
        names = [node.name for node in self.nodes]
        if len(set(names)) != len(names):
            raise BrokenSnapshot("two nodes have one name")
        holders: dict[tuple[str, int | None], Task] = {}
        shared = {
            rank.node for task in self.tasks if task.live_run is not None for rank in task.live_run.ranks if rank.gpus
        }
        for task in self.tasks:
            if task.state.ended:
                raise BrokenSnapshot(f"task {task.id} has ended")
            if task.state.live != (task.live_run is not None):
                raise BrokenSnapshot(f"task {task.id} is {task.state.value} but its run says otherwise")
            for rank in task.live_run.ranks if task.live_run else ():
                if not rank.gpus and rank.node in shared:
                    raise BrokenSnapshot(f"node {rank.node} is held whole by task {task.id}, and shared")
                for gpu in rank.gpus or (None,):
                    other = holders.setdefault((rank.node, gpu), task)
                    if other is not task:
                        part = rank.node if gpu is None else f"GPU {gpu} of {rank.node}"
                        raise BrokenSnapshot(f"node {part} is held by tasks {other.id} and {task.id}")
