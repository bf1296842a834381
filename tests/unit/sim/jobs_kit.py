"""Small worlds for the simulator: jobs by a few words, and what became of them as seconds after `T0`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.sim.records import Records, RunRecord
from hai_scheduler.sim.scenario import Setting, SimulatedJob, cluster_of
from hai_scheduler.sim.simulate import SimulationOutcome, simulate
from kit.builders import T0, at

MINUTE = 60
HOUR = 3600


def a_job(
    number: int = 1,
    work: float | None = 100,
    *,
    submitted: float = 0,
    nodes: int = 1,
    gpus: int | None = None,
    user: str | None = None,
    priority: Priority | None = Priority.NORMAL,
    limit: float | None = None,
    saves_in: float | None = 0,
    saves_every: float | None = None,
    fails_after: float | None = None,
    **task: Any,
) -> SimulatedJob:
    """A job; times are seconds. Each has a user of its own unless one is named."""
    fields = {
        "id": TaskId(number),
        "name": f"job-{number}",
        "user": user or f"user-{number}",
        "group": "training",
        "priority": priority,
        "nodes": nodes,
        "gpus": gpus,
        "submitted_at": at(submitted),
        "waiting_since": at(submitted),
        "time_limit": _length(limit),
    }
    return SimulatedJob(
        task=Task(**{**fields, **task}),
        work=_length(work),
        saves_in=_length(saves_in),
        saves_every=_length(saves_every),
        fails_after=_length(fails_after),
    )


def _length(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def a_setting(nodes: int = 1, discipline: Discipline = Discipline.HAI, **fields: Any) -> Setting:
    """A cluster of equal nodes whose snapshots are checked."""
    return Setting(**{"nodes": cluster_of(nodes), "discipline": discipline, "check": True, **fields})


def run(jobs: Sequence[SimulatedJob], setting: Setting | None = None, **fields: Any) -> SimulationOutcome:
    """Simulate the jobs, on one node unless a setting or its fields say otherwise."""
    return simulate(setting or a_setting(**fields), jobs)


def seconds(time: datetime | None) -> float | None:
    """After `T0`."""
    return None if time is None else (time - T0).total_seconds()


def turns(outcome: SimulationOutcome, number: int) -> list[tuple[float | None, float | None]]:
    """When each turn of a task began and ended."""
    return [(seconds(r.started_at), seconds(r.ended_at)) for r in runs_of(outcome.records, number)]


def runs_of(records: Records, number: int) -> list[RunRecord]:
    """The runs of a task."""
    return [run for run in records.runs if run.task_id == number]


def ends(outcome: SimulationOutcome) -> dict[int, float | None]:
    """When each task ended."""
    return {int(task.task_id): seconds(task.ended_at) for task in outcome.records.tasks}
