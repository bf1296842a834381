"""The records of a simulation: every run, every task, and the occupancy of the cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.sim.scenario import SimulatedJob


class RunRecord(NamedTuple):
    """One turn of a task."""

    task_id: TaskId
    number: int
    #: When the run got its nodes.
    started_at: datetime
    #: When all ranks were up and began to work; None: never.
    up: datetime | None
    #: The time up to which the run's work counts; later work is lost. None: it never worked.
    kept_until: datetime | None
    ended_at: datetime
    #: How many nodes the run held, parts of nodes as fractions.
    share: float
    reason: Reason | None
    nodes: tuple[str, ...]


class TaskRecord(NamedTuple):
    """One task that has ended."""

    task_id: TaskId
    user: str
    #: How many nodes the task needs, parts of nodes as fractions.
    share: float
    #: On how many nodes the task runs.
    nodes: int
    work: timedelta
    submitted_at: datetime
    ended_at: datetime
    suspensions: int
    state: TaskState


class PlanInterval(NamedTuple):
    """The occupancy of the cluster between two plans."""

    at: datetime
    #: How many nodes runs hold, parts of nodes as fractions.
    held: float
    #: How many tasks wait for a turn, and how many nodes they need.
    waiting: int
    wanted: float
    #: How many nodes are up.
    ready: int


@dataclass(slots=True)
class Records:
    """All records of a simulation, in order of time."""

    runs: list[RunRecord] = field(default_factory=list)
    tasks: list[TaskRecord] = field(default_factory=list)
    moments: list[PlanInterval] = field(default_factory=list)
    #: Times at which the number of nodes that are up changed, and the number; the first is the begin.
    ready: list[tuple[datetime, int]] = field(default_factory=list)
    #: How often a node failed.
    failures: int = 0
    #: How long each plan took in real time, in seconds.
    plan_seconds: list[float] = field(default_factory=list)

    def run_over(self, task: Task, run: Run, *, up: datetime | None, kept_until: datetime | None, share: float) -> None:
        """Record a run that has ended."""
        assert run.ended_at is not None
        self.runs.append(
            RunRecord(task.id, run.number, run.started_at, up, kept_until, run.ended_at, share, run.reason, run.nodes)
        )

    def task_over(self, task: Task, job: SimulatedJob, share: float) -> None:
        """Record a task that has ended."""
        assert task.ended_at is not None
        work = timedelta(0) if job.work is None else job.work
        self.tasks.append(
            TaskRecord(
                task.id,
                task.user,
                share,
                task.nodes,
                work,
                task.submitted_at,
                task.ended_at,
                task.suspensions,
                task.state,
            )
        )

    def moment(self, at: datetime, held: float, waiting: int, wanted: float, ready: int) -> None:
        """Record the occupancy after a plan; of several plans at one time the last one counts."""
        if self.moments and self.moments[-1].at == at:
            self.moments.pop()
        self.moments.append(PlanInterval(at, held, waiting, wanted, ready))
