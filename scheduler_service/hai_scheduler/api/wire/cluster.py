"""Models of nodes, of the cluster at a glance, and of the health of the platform."""

from __future__ import annotations

from typing import Literal

from hai_scheduler.api.wire.base import (
    Input,
    LevelName,
    Output,
    Seconds,
)


class NodeOut(Output):
    """A node, its mark and what runs on it."""

    name: str
    group: str
    leaf: str
    zone: str
    gpus: int
    ready: bool
    mark: Literal["none", "cordoned", "draining", "quarantined"]
    #: The only task that holds the node, and its user; null if no task or several tasks hold it.
    task_id: int | None
    user: str | None
    #: Number of GPUs that no task holds.
    gpus_free: int = 0
    #: Every task that holds the node, or GPUs of it.
    tasks: list[NodeTask] = []
    #: The orphaned run that holds the node, which belongs to no task of the database; null: none does.
    orphan: str | None = None


class NodeTask(Output):
    """A task on a node."""

    task_id: int
    user: str
    #: Indices of the GPUs that the task holds there; empty: the whole node.
    gpus: list[int]


class NodeList(Output):
    """All nodes, by name."""

    items: list[NodeOut]


class LevelCount(Output):
    """Tasks and nodes at one priority."""

    priority: LevelName
    running_tasks: int
    running_nodes: int
    waiting_tasks: int
    waiting_nodes: int


class GroupOverview(Output):
    """A node group at a glance."""

    group: str
    nodes: int
    held: int
    free: int
    #: Nodes that are cordoned, quarantined, draining or not ready, and not held.
    unavailable: int
    #: Held nodes that have GPUs left for tasks that share nodes.
    shared: int = 0
    gpus: int = 0
    #: Free GPUs on nodes that take new runs.
    gpus_free: int = 0
    levels: list[LevelCount]


class ClusterOut(Output):
    """The cluster at a glance."""

    paused: bool
    groups: list[GroupOverview]
    #: Why the scheduler decides nothing now, in a sentence; null: it decides.
    standstill: str | None = None


class PauseRequest(Input):
    """How the platform is paused."""

    #: The longest time that a run gets to save, in seconds; null: each task has its own grace.
    grace_s: Seconds | None = None


class HealthOut(Output):
    """Whether the service is well. `status` is `ok` or `degraded`."""

    status: Literal["ok", "degraded"]
    version: str
    #: Seconds since the last tick that succeeded.
    last_tick_s: float | None
    #: What is wrong, in a sentence; null: all is well.
    detail: str | None = None
    #: Whether the scheduler decides. While it does not, no task starts, none is interrupted, and running tasks go on.
    deciding: bool = True
