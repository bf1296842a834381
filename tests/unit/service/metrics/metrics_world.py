"""A store with a task that has run, and points of its ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hai_scheduler.core.metrics.series import Point, Spread
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from kit.builders import T0, a_spec, a_task
from kit.stores import ScratchStore

BEGIN = int(T0.timestamp())


async def a_task_with(store: ScratchStore, *runs: Run) -> Task:
    """Store a task of alice with these runs; it runs, if the last of them is live."""
    async with store.write() as tx:
        task = await tx.tasks.add(a_task(nodes=len(runs[0].ranks) if runs else 1), a_spec("train"))
    for run in runs:
        state = TaskState.RUNNING if run.live else TaskState.QUEUED
        async with store.write() as tx:
            known = await tx.tasks.get(task.id)
            task = await tx.tasks.save(_with(known, run, state))
    return task


def _with(task: Task, run: Run, state: TaskState) -> Task:
    return replace(task, state=state, run=run)


def points(seconds: Iterable[int], **values: float) -> list[Point]:
    """Points that end that number of seconds after T0, with these values."""
    return [Point(BEGIN + second, {name: Spread(v, v, v) for name, v in values.items()}) for second in seconds]


def ends(found: Iterable[Point]) -> list[int]:
    """The ends of points, seconds after T0."""
    return [point.at - BEGIN for point in found]
