"""Decayed use: the node-seconds that users have held, worth half after each half-life (O3)."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import exp2, log

from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task

_LN2 = log(2)


def held(begin: datetime, end: datetime, now: datetime, half_life: timedelta) -> float:
    """Return the decayed seconds between two times: each counts half for every half-life that it lies before `now`."""
    return held_between((now - end).total_seconds(), (now - begin).total_seconds(), half_life.total_seconds())


def held_between(until: float, since: float, half: float) -> float:
    """Return the same for ages, in seconds before now, and a half-life in seconds."""
    return (exp2(-until / half) - exp2(-since / half)) * half / _LN2 if since > until else 0.0


def decayed(use: Usage, now: datetime, half_life: timedelta) -> float:
    """Return the node-seconds that a use still counts at `now`."""
    return use.node_seconds * exp2(-(now - use.at) / half_life)


def share_of(task: Task, gpus_per_node: int) -> float:
    """Return how many nodes a run of the task holds; k GPUs of a node count k / GPUs-of-the-node (Q1, U2)."""
    if task.gpus is None or gpus_per_node <= 0:
        return float(task.nodes)
    return task.nodes * task.gpus / gpus_per_node


def with_run(use: Usage | None, task: Task, run: Run, *, gpus_per_node: int, half_life: timedelta) -> Usage:
    """Return the user's use after a run has ended.

    Args:
        use: The use before; None: none.
        task: The task of the run.
        run: The run that has ended.
        gpus_per_node: GPUs of the largest node of the group.
        half_life: The time after which use counts half.

    Raises:
        ValueError: The run has not ended.
    """
    if run.ended_at is None:
        raise ValueError(f"run {run.id} has not ended")
    before = 0.0 if use is None else decayed(use, run.ended_at, half_life)
    now = share_of(task, gpus_per_node) * held(run.started_at, run.ended_at, run.ended_at, half_life)
    return Usage(user=task.user, group=task.group, node_seconds=before + now, at=run.ended_at)
