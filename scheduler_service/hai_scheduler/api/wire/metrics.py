"""Models of metrics: what ranks send, and the series of a task."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import FailFast, Field

from hai_scheduler.api.wire.base import MAX_NUMBER, Input, LevelName, Output, TaskStateName
from hai_scheduler.api.wire.tasks import TaskProgressOut
from hai_scheduler.core.metrics.packing import MOST_NAMES
from hai_scheduler.core.metrics.series_piece import MOST_POINTS, MOST_VALUE
from hai_scheduler.core.model.limits import MAX_STEP

#: Numbers of a job's own may be negative, others may not.
Value = Annotated[float, Field(ge=-MOST_VALUE, le=MOST_VALUE, allow_inf_nan=False)]
#: The least, the mean and the greatest value of a metric within a window.
SpreadIn = tuple[Value, Value, Value]


class PointIn(Input):
    """The metrics of a rank in a window of ten seconds."""

    #: The end of the window, Unix time in seconds.
    at: Annotated[int, Field(ge=0, le=MAX_NUMBER)]
    #: By name of the metric: the least, the mean and the greatest value.
    values: Annotated[dict[Annotated[str, Field(max_length=40)], SpreadIn], Field(max_length=MOST_NAMES)]


class ProgressIn(Input):
    """How far the job has come."""

    #: When it has said so, Unix time in seconds.
    at: Annotated[float, Field(ge=0, le=2**36, allow_inf_nan=False)]
    #: Steps that are done.
    step: Annotated[int, Field(ge=0, le=MAX_STEP)]
    #: After how many steps it is done; null: not known.
    total: Annotated[int, Field(ge=0, le=MAX_STEP)] | None = None


class RankMetricsIn(Input):
    """Metrics of a rank. Points that were sent before are left out."""

    points: Annotated[list[PointIn], Field(max_length=MOST_POINTS), FailFast()] = []
    #: The same points as one packed piece, in Base64, in the place of `points` (`hai_client.metrics.packing`).
    #: A supervisor packs its points once an answer has named the form.
    packed: Annotated[str, Field(max_length=2**20)] | None = None
    #: The job's newest report, if the service does not have it yet.
    progress: ProgressIn | None = None


class MetricsTaken(Output):
    """The answer to metrics that were stored."""

    #: The end of the rank's newest point, Unix time in seconds.
    newest: int
    #: When the rank is to send the next points, seconds from now.
    after: float
    #: The form of packed pieces that is taken.
    packed_form: int


class TaskUseOut(Output):
    """What the ranks of a task use together, at their newest points; null: not measured."""

    #: Processor cores.
    cpu: float | None
    #: Bytes of memory.
    memory: float | None
    #: Bytes a second, of disks and of networks.
    disk_read: float | None
    disk_written: float | None
    net_received: float | None
    net_sent: float | None
    #: The mean of all GPUs, %.
    gpu_use: float | None
    #: Bytes of memory, and watts, of all GPUs.
    gpu_memory: float | None
    gpu_power: float | None


class HolderUseOut(Output):
    """A task that holds nodes now. Of another user's task only the id, the user and the nodes are told."""

    task_id: int
    user: str
    #: Number of nodes, and GPUs on each of them; null: whole nodes.
    nodes: int
    gpus: int | None
    #: Whether the rest is told.
    known: bool
    name: str = ""
    state: TaskStateName | None = None
    priority: LevelName | None = None
    #: When its run was up.
    running_since: datetime | None = None
    #: How long no equal may have its nodes, in seconds; 0: one may; null: not known, as while it starts or leaves.
    turn_left_s: float | None = None
    #: Deadline of its notice; null: there is none.
    deadline: datetime | None = None
    progress: TaskProgressOut | None = None
    #: Null: nothing was measured in the last five minutes.
    use: TaskUseOut | None = None


class ClusterUseOut(Output):
    """The tasks that hold nodes now: the caller's own first, then those with most nodes."""

    items: list[HolderUseOut]
    #: How many further tasks there are, which the answer leaves out.
    left_out: int


class RankSeriesOut(Output):
    """The metrics of a rank in one run: of each metric a list, with null where a point has no value."""

    rank: int
    node: str
    #: Ends of the spans, Unix time in seconds.
    at: list[int]
    least: dict[str, list[float | None]]
    mean: dict[str, list[float | None]]
    greatest: dict[str, list[float | None]]


class RunSeriesOut(Output):
    """The metrics of one run."""

    run: int
    started_at: datetime
    running_at: datetime | None
    #: When the run was told to leave.
    noticed_at: datetime | None
    ended_at: datetime | None
    ranks: list[RankSeriesOut]


class TaskSeriesOut(Output):
    """The metrics of a task, run by run."""

    #: The length of the spans, seconds; old points may be of a coarser step.
    step: int
    #: The unit of each metric that occurs.
    units: dict[str, str]
    runs: list[RunSeriesOut]
