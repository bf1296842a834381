"""What a simulation leaves behind: every run, every task, and how full the cluster was."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.sim.scenario import Job


class RunRecord(NamedTuple):
    """One turn of a task."""

    task_id: TaskId
    number: int
    #: When it was given its nodes.
    started_at: datetime
    #: When its ranks were up and it began to work; None: never.
    up: datetime | None
    #: Up to when its work counts; what came after it is lost. None: it never worked.
    kept_until: datetime | None
    ended_at: datetime
    #: Nodes' worth that it held.
    share: float
    reason: Reason | None
    nodes: tuple[str, ...]


class TaskRecord(NamedTuple):
    """One task that has ended."""

    task_id: TaskId
    user: str
    #: Nodes' worth that it needs.
    share: float
    #: On how many nodes.
    nodes: int
    work: timedelta
    submitted_at: datetime
    ended_at: datetime
    suspensions: int
    state: TaskState


class Moment(NamedTuple):
    """How it was from a plan on, until the next."""

    at: datetime
    #: Nodes' worth that runs hold.
    held: float
    #: Tasks that wait for a turn, and nodes' worth that they need.
    waiting: int
    wanted: float
    #: Nodes that are up.
    ready: int


@dataclass(slots=True)
class Records:
    """All of it, in the order of time."""

    runs: list[RunRecord] = field(default_factory=list)
    tasks: list[TaskRecord] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    #: How many nodes were up, from when on; the first entry is the begin.
    ready: list[tuple[datetime, int]] = field(default_factory=list)
    #: How often a node failed.
    failures: int = 0
    #: How long each plan took in reality, in seconds.
    plan_seconds: list[float] = field(default_factory=list)

    def run_over(self, task: Task, run: Run, *, up: datetime | None, kept_until: datetime | None, share: float) -> None:
        """A run has ended."""
        assert run.ended_at is not None
        self.runs.append(
            RunRecord(task.id, run.number, run.started_at, up, kept_until, run.ended_at, share, run.reason, run.nodes)
        )

    def task_over(self, task: Task, job: Job, share: float) -> None:
        """A task has ended."""
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
        """A plan has been carried out. Of several at one time the last one counts."""
        if self.moments and self.moments[-1].at == at:
            self.moments.pop()
        self.moments.append(Moment(at, held, waiting, wanted, ready))
