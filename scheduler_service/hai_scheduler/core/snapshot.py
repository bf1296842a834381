"""All that a plan is made from, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hai_scheduler.core.model import Node, Quota, Task


class BrokenSnapshot(AssertionError):
    """A snapshot contradicts itself: a bug of the shell, never of a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The cluster and the queue at one moment."""

    now: datetime
    nodes: tuple[Node, ...]
    #: Every task that has not ended.
    tasks: tuple[Task, ...]
    quotas: tuple[Quota, ...] = ()
    #: The user groups of each user.
    groups_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Nothing starts, and everything that runs is asked to leave.
    paused: bool = False
    #: While paused: the longest that a task gets to save; None leaves each its own grace.
    pause_grace: timedelta | None = None

    def check(self) -> None:
        """Raise BrokenSnapshot unless the invariants hold: names are unique, a node has one live run (B4)."""
        names = [node.name for node in self.nodes]
        if len(set(names)) != len(names):
            raise BrokenSnapshot("two nodes have one name")
        holder: dict[str, Task] = {}
        for task in self.tasks:
            if task.state.ended:
                raise BrokenSnapshot(f"task {task.id} has ended")
            if task.state.live != (task.live_run is not None):
                raise BrokenSnapshot(f"task {task.id} is {task.state.value} but its run says otherwise")
            for name in task.live_run.nodes if task.live_run else ():
                if name in holder:
                    raise BrokenSnapshot(f"node {name} is held by tasks {holder[name].id} and {task.id}")
                holder[name] = task
