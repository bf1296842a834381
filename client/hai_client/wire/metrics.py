"""The metrics of tasks, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime

from hai_client.backports import dataclass
from hai_client.wire.schema import TaskProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUse:
    """What the ranks of a task use together, at their newest points; None: not measured."""

    #: Processor cores.
    cpu: float | None = None
    #: Bytes of memory.
    memory: float | None = None
    #: Bytes a second, of disks and of networks.
    disk_read: float | None = None
    disk_written: float | None = None
    net_received: float | None = None
    net_sent: float | None = None
    #: The mean of all GPUs, %.
    gpu_use: float | None = None
    #: Bytes of memory, and watts, of all GPUs.
    gpu_memory: float | None = None
    gpu_power: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderUse:
    """A task that holds nodes now. Of another user's task only the id, the user and the nodes are told."""

    task_id: int
    user: str
    #: Number of nodes, and GPUs on each of them; None: whole nodes.
    nodes: int
    gpus: int | None = None
    #: Whether the rest is told.
    known: bool
    name: str = ""
    state: str | None = None
    priority: str | None = None
    #: When its run was up.
    running_since: datetime | None = None
    #: How long no equal may have its nodes, in seconds; 0: one may; None: not known, as while it starts or leaves.
    turn_left_s: float | None = None
    #: Deadline of its notice; None: there is none.
    deadline: datetime | None = None
    progress: TaskProgress | None = None
    #: Null: nothing was measured in the last five minutes.
    use: TaskUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUse:
    """The tasks that hold nodes now: the caller's own first, then those with most nodes."""

    items: tuple[HolderUse, ...]
    #: How many further tasks there are, which the answer leaves out.
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSeries:
    """The metrics of a rank in one run: of each metric a list, with None where a point has no value."""

    rank: int
    node: str
    #: Ends of the spans, Unix time in seconds.
    at: tuple[int, ...]
    least: dict[str, tuple[float | None, ...]]
    mean: dict[str, tuple[float | None, ...]]
    greatest: dict[str, tuple[float | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeries:
    """The metrics of one run."""

    run: int
    started_at: datetime
    running_at: datetime | None = None
    #: When the run was told to leave.
    noticed_at: datetime | None = None
    ended_at: datetime | None = None
    ranks: tuple[RankSeries, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSeries:
    """The metrics of a task, run by run."""

    #: The length of the spans, seconds; old points may be of a coarser step.
    step: int
    #: The unit of each metric that occurs.
    units: dict[str, str]
    runs: tuple[RunSeries, ...]
