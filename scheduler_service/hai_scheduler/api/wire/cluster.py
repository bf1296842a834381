"""Models of nodes, of the cluster at a glance, and of the health of the platform."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import Input, Length, LevelName, Output, Seconds


class MeanUseOut(Output):
    """What a run uses in the mean; null: not measured."""

    #: Cores, and bytes of memory, of a rank.
    cpu: float | None
    memory: float | None
    #: Per cent, bytes of memory and watts, of a GPU.
    gpu_use: float | None
    gpu_memory: float | None
    gpu_power: float | None
    #: The part of the time of its GPUs in which they did nothing, 0 to 1, of a run that has ended.
    gpu_idle: float | None = None


class NodeTask(Output):
    """A task on a node. Of another user's task the name and the use are not told."""

    task_id: int
    user: str
    #: Indices of the GPUs that the task holds there; empty: the whole node.
    gpus: list[int]
    #: Its name; empty: it is not told.
    name: str = ""
    #: Number of its run, and the priority that the run holds.
    run: int | None = None
    priority: LevelName | None = None
    #: What the run does: its ranks start, they run, or they were told to leave.
    phase: Literal["starting", "running", "leaving"] | None = None
    #: When all its ranks were up.
    running_since: datetime | None = None
    #: Deadline of its notice; null: there is none.
    deadline: datetime | None = None
    #: What it uses on this node; null: nothing was measured in the last five minutes, or it was not asked for.
    use: MeanUseOut | None = None


NodeStateName = Literal[
    "down", "orphaned", "draining", "cordoned", "quarantined", "closed", "crowded", "held", "shared", "free"
]


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
    #: Number of GPUs that a task can have now: no task holds them, and no pods from outside of HAI.
    gpus_free: int = 0
    #: Every task that holds the node, or GPUs of it.
    tasks: list[NodeTask] = []
    #: The orphaned run that holds the node, which belongs to no task of the database; null: none does.
    orphan: str | None = None
    #: Its state in a word; the first of these that is so. Down: the cluster cannot reach it; closed: the cluster itself
    #: takes no new runs on it; crowded: no task is on it, and pods from outside of HAI have some of its room.
    state: NodeStateName = "free"
    #: Why it takes no new runs, or not as many as it has GPUs for, as sentences; null: it does.
    reason: str | None = None
    #: Why RDMA falls back to TCP there, as a rank that runs there has found, and who can do what; null: it does not, or
    #: it is not known.
    network: str | None = None
    #: Since when it is ready or not, closed or open, and marked or not; null: not known.
    since: datetime | None = None
    #: The admin who has put the mark on it, or has taken it away; null: no admin has.
    by: str | None = None
    #: When the service saw it last.
    seen_at: datetime | None = None


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


class NodeListQuery(Input):
    """What is told of nodes."""

    #: Tell also what tasks use on each node: of the caller's own, or of all for an admin.
    use: bool = False


class MarkPreviewIn(Input):
    """Nodes, and the mark that they would get."""

    nodes: Annotated[list[Annotated[str, Field(min_length=1, max_length=253)]], Field(min_length=1, max_length=1000)]
    mark: Literal["cordoned", "draining"] = "draining"


class PreviewTask(Output):
    """A task in a preview."""

    task_id: int
    name: str
    user: str
    #: The priority that its run holds, or that was asked for; null: AUTO, and it waits.
    priority: LevelName | None
    nodes: int
    #: GPUs on each of its nodes; null: whole nodes.
    gpus: int | None


class DisplacedTask(PreviewTask):
    """A task that would be told to leave."""

    #: Those of its nodes that would be marked.
    node_names: list[str]
    #: When it is away at the latest: the deadline of its notice; null: not known.
    away_by: datetime | None
    #: When and where it would go on; null and empty: not in the time that was computed.
    goes_on_at: datetime | None
    goes_on_nodes: list[str]
    #: Whether it would end by itself instead.
    ends: bool


class MovedTask(PreviewTask):
    """A task on other nodes that would make room for a displaced one."""

    at: datetime
    #: That one.
    beneficiary: int


class LaterTask(PreviewTask):
    """A waiting task that would start later."""

    #: When it would start without the mark, and with it; null: not in the time that was computed.
    without: datetime
    with_mark: datetime | None


class AssumptionOut(Output):
    """Something that computed times or figures rest on, or what they cannot know."""

    #: Which it is. Who does not know it shows the sentence.
    name: str
    sentence: str
    #: The number of tasks or nodes that it is about; null: it is about no number.
    count: int | None = None
    #: The length of time that it names, in seconds; null: it names none.
    length_s: Length | None = None


class MarkPreviewOut(Output):
    """What a mark on nodes would do, from the planner itself; nothing was done."""

    at: datetime
    nodes: list[str]
    mark: Literal["cordoned", "draining"]
    #: The whole in a few sentences.
    sentence: str
    displaced: list[DisplacedTask]
    #: Tasks that would stay on these nodes until their runs end.
    staying: list[PreviewTask]
    moved: list[MovedTask]
    #: The first 100 of each node group, the soonest first; and how many there are beyond them.
    later: list[LaterTask]
    later_left_out: int
    #: When the last task that is told to leave is away at the latest; null: none is told.
    empty_by: datetime | None
    #: Up to when the planner was run, and the precision of its times, in seconds.
    computed_until: datetime
    step_s: Length
    #: What the times rest on.
    assumptions: list[AssumptionOut]


class PauseRequest(Input):
    """How the platform is paused."""

    #: The longest time that a run gets to save, in seconds; null: each task has its own grace.
    grace_s: Seconds | None = None


class HealthOut(Output):
    """Whether the service is well. `status` is `ok` or `degraded`."""

    status: Literal["ok", "degraded"]
    version: str
    #: Seconds since the last tick that succeeded.
    last_tick_s: Length | None
    #: What is wrong, in a sentence; null: all is well.
    detail: str | None = None
    #: Whether the scheduler decides. While it does not, no task starts, none is interrupted, and running tasks go on.
    deciding: bool = True
