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

    cpu: float | None = None  #: Processor cores.
    memory: float | None = None  #: Bytes of memory.
    disk_read: float | None = None  #: Bytes a second, of disks and of networks.
    disk_written: float | None = None
    net_received: float | None = None
    net_sent: float | None = None
    gpu_use: float | None = None  #: The mean of all GPUs, %.
    gpu_memory: float | None = None  #: Bytes of memory, and watts, of all GPUs.
    gpu_power: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderUse:
    """A task that holds nodes now. Of another user's task only the id, the user and the nodes are told."""

    task_id: int
    user: str
    nodes: int  #: Number of nodes, and GPUs on each of them; None: whole nodes.
    gpus: int | None = None
    known: bool  #: Whether the rest is told.
    name: str = ""
    state: str | None = None
    priority: str | None = None
    running_since: datetime | None = None  #: When its run was up.
    #: How long no equal may have its nodes, in seconds; 0: one may; None: not known, as while it starts or leaves.
    turn_left_s: float | None = None
    deadline: datetime | None = None  #: Deadline of its notice; None: there is none.
    progress: TaskProgress | None = None
    use: TaskUse | None = None  #: Null: nothing was measured in the last five minutes.


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUse:
    """The tasks that hold nodes now: the caller's own first, then those with most nodes."""

    items: tuple[HolderUse, ...]
    left_out: int  #: How many further tasks there are, which the answer leaves out.


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSeries:
    """The metrics of a rank in one run: of each metric a list, with None where a point has no value."""

    rank: int
    node: str
    at: tuple[int, ...]  #: Ends of the spans, Unix time in seconds.
    least: dict[str, tuple[float | None, ...]]
    mean: dict[str, tuple[float | None, ...]]
    greatest: dict[str, tuple[float | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeries:
    """The metrics of one run."""

    run: int
    started_at: datetime
    running_at: datetime | None = None
    noticed_at: datetime | None = None  #: When the run was told to leave.
    ended_at: datetime | None = None
    ranks: tuple[RankSeries, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSeries:
    """The metrics of a task, run by run."""

    step: int  #: The length of the spans, seconds; old points may be of a coarser step.
    units: dict[str, str]  #: The unit of each metric that occurs.
    runs: tuple[RunSeries, ...]
