"""Models of the cluster over the last day, and of the queue."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import MAX_NUMBER, Input, LevelName, Output, PriorityChoice
from hai_scheduler.api.wire.cluster import GroupOverview, LevelCount

#: What a task waits for, as an id with words of its own.
ShortName = Literal[
    "quota",
    "quota_of_others",
    "capacity",
    "turn",
    "reserved",
    "draining",
    "topology",
    "retry",
    "held",
    "paused",
    "never",
    "next",
]


class ShortWaitOut(Output):
    """Why a task waits, in a few words."""

    id: ShortName
    #: What the words need: `nodes`, `gpus`, `group`; also `used`, `limit` and `level` (quota), `first` (reserved), and
    #: `retry` and `of` (retry).
    data: dict[str, Any]
    #: About when that is over, if it can be said; the words then end with it.
    until: datetime | None
    #: The words, without capital, full stop and that time.
    words: str
    #: The words with that time.
    text: str


class QueueQuery(Input):
    """Which part of the queue."""

    #: The node group (default: all, each from its first task on).
    group: Annotated[str, Field(max_length=128)] | None = None
    #: Only tasks after this number, with `group`: `next` of the page before.
    after: Annotated[int, Field(ge=0, le=MAX_NUMBER)] = 0
    #: The most tasks of each group.
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    #: Only the caller's own tasks, with their places among all.
    mine: bool = False


class QueueTask(Output):
    """A task that waits. Of another user's task the name is not told, and of its quota nothing."""

    #: Its number in this list.
    number: int
    #: Its place among the waiting tasks of its group, from 1; null: its owner holds it.
    position: int | None
    task_id: int
    user: str
    #: Its name; empty: it is not told.
    name: str
    #: The priority that counts now.
    priority: LevelName
    #: The priority that was asked for: tasks of one user change places where it is the same. Null: it is not told.
    asked: PriorityChoice | None = None
    nodes: int
    #: GPUs on each of its nodes; null: whole nodes.
    gpus: int | None
    state: Literal["queued", "suspended"]
    submitted_at: datetime
    waiting_since: datetime
    short: ShortWaitOut


class GroupQueueOut(Output):
    """The queue of a node group."""

    group: str
    #: How many tasks wait for a turn, and how many are held by their owners.
    waiting: int
    held: int
    items: list[QueueTask]
    #: `after` of the next page; null: this is the last one.
    next: int | None


class QueueOut(Output):
    """The queues of node groups, as the latest plan has them; groups in which nothing waits are left out."""

    #: When that plan was made.
    at: datetime | None
    groups: list[GroupQueueOut]


class UseNowOut(Output):
    """What the nodes do now, in nodes; k GPUs of a node count k / GPUs-of-the-node."""

    nodes: int
    #: Nodes that runs hold: the sum of the four below.
    held: float
    #: Those of runs that start, that compute, whose GPUs are idle, and that were told to leave.
    starting: float
    useful: float
    idle: float
    leaving: float
    #: The parts of all nodes that are held, and that compute, 0 to 1; null: there is no node.
    occupancy: float | None
    useful_share: float | None


class HourOut(Output):
    """What the nodes did in an hour. Lengths of time are seconds of nodes."""

    hour: datetime
    #: Up to when it is counted: its end, but for the present hour.
    until: datetime
    #: All node time there was, and in it that of nodes which took no new runs; null: it was not recorded.
    capacity_s: float | None
    down_s: float | None
    #: Node time that runs held, and in it that of their starts, of work, of saving and of lost work.
    held_s: float
    starting_s: float
    useful_s: float
    saving_s: float
    lost_s: float
    #: Seconds of GPUs in which they did nothing, as far as runs have ended: of those that go on it is not known yet.
    gpu_idle_s: float
    #: The parts of all node time that were held, and useful, 0 to 1; null: not known.
    occupancy: float | None
    useful_share: float | None


class EndedCount(Output):
    """How many tasks ended in some time."""

    succeeded: int
    failed: int
    stopped: int


class OverviewOut(Output):
    """The cluster now and over the last day, the same for every reader."""

    at: datetime
    #: The number of the last event before: with `after` of it, `GET /events` tells all that has changed since.
    change: int
    paused: bool
    #: Why the scheduler decides nothing now, in a sentence; null: it decides.
    standstill: str | None
    now: UseNowOut
    #: The last 24 hours and the present one, the oldest first.
    hours: list[HourOut]
    #: Running and waiting tasks by priority, over all node groups; the highest first.
    levels: list[LevelCount]
    groups: list[GroupOverview]
    #: How many tasks were submitted, and ended, in the last three hours.
    submitted_3h: int
    ended_3h: EndedCount
