"""Runs a simulation of jobs on a cluster from the first submission to the last end."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from hai_scheduler.core.model.task import Task
from hai_scheduler.sim.engine import Engine
from hai_scheduler.sim.records import Records
from hai_scheduler.sim.scenario import Setting, SimulatedJob

#: How many moments pass between two reports on progress.
_PROGRESS_EVERY = 250
#: How many moments pass between two collections of garbage.
_COLLECT_EVERY = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a simulation."""

    #: How many jobs have ended, and how many there are.
    done: int
    jobs: int
    #: The virtual time.
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOutcome:
    """The result of a simulation."""

    setting: Setting
    records: Records
    begin: datetime
    last_submission: datetime
    #: When the last task ended.
    end: datetime
    #: Tasks that can never start, or are held.
    unfinished: tuple[Task, ...]


def simulate(
    setting: Setting, jobs: Sequence[SimulatedJob], progress: Callable[[Progress], None] | None = None
) -> SimulationOutcome:
    """Simulate the jobs until every task has ended, or can never start.

    Args:
        setting: The cluster, the rules and the costs.
        jobs: At least one; the simulation begins with the first submission.
        progress: Called now and then with the progress of the simulation.

    Raises:
        ValueError: There is no job.
        hai_scheduler.sim.engine.Stalled: The rules never let a job end.
    """
    if not jobs:
        raise ValueError("there is no job to simulate")
    begin = min(job.task.submitted_at for job in jobs)
    records = Records()
    engine = Engine(setting, begin, jobs=jobs, records=records)
    steps = 0
    was_on = gc.isenabled()
    gc.disable()  # garbage of plans has no cycles, and the search for cycles costs more than planning
    try:
        while engine.step():
            steps += 1
            if progress is not None and steps % _PROGRESS_EVERY == 0:
                progress(Progress(done=len(records.tasks), jobs=len(jobs), now=engine.now))
            if steps % _COLLECT_EVERY == 0:
                gc.collect()
    finally:
        if was_on:
            gc.enable()
    if progress is not None:
        progress(Progress(done=len(records.tasks), jobs=len(jobs), now=engine.now))
    return SimulationOutcome(
        setting=setting,
        records=records,
        begin=begin,
        last_submission=max(job.task.submitted_at for job in jobs),
        end=max((task.ended_at for task in records.tasks), default=engine.now),
        unfinished=tuple(engine.tasks.values()),
    )
