"""What users have held lately: decayed use (O3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from math import exp2, log

from hai_scheduler.core.model import Run, Task, Use
from hai_scheduler.core.policy import Policy
from hai_scheduler.core.turns import Turn

_LN2 = log(2)


def held(begin: datetime, end: datetime, now: datetime, half_life: timedelta) -> float:
    """Seconds between two times, each worth half as much for every half-life that it lies before `now`."""
    return _between((now - end).total_seconds(), (now - begin).total_seconds(), half_life.total_seconds())


def _between(until: float, since: float, half: float) -> float:
    """The same of ages in seconds."""
    return (exp2(-until / half) - exp2(-since / half)) * half / _LN2 if since > until else 0.0


def decayed(use: Use, now: datetime, half_life: timedelta) -> float:
    """The node seconds of a use that it still counts at `now`."""
    return use.node_seconds * exp2(-(now - use.at) / half_life)


def share_of(task: Task, gpus_per_node: int) -> float:
    """How many nodes' worth a run of the task holds; k GPUs of a node count k / GPUs-of-the-node (Q1, U2)."""
    if task.gpus is None or gpus_per_node <= 0:
        return float(task.nodes)
    return task.nodes * task.gpus / gpus_per_node


def with_run(use: Use | None, task: Task, run: Run, *, gpus_per_node: int, half_life: timedelta) -> Use:
    """The user's use after a run has ended. Raises ValueError for a run that has not."""
    if run.ended_at is None:
        raise ValueError(f"run {run.id} has not ended")
    before = 0.0 if use is None else decayed(use, run.ended_at, half_life)
    now = share_of(task, gpus_per_node) * held(run.started_at, run.ended_at, run.ended_at, half_life)
    return Use(user=task.user, group=task.group, node_seconds=before + now, at=run.ended_at)


class UserUse:
    """Decayed use of the users of a node group, divided by their weights (O3). Found when it is asked for."""

    def __init__(self, uses: Iterable[Use], running: Iterable[Turn], policy: Policy, now: datetime) -> None:
        """`uses` are those of the group; `running` the turns of its tasks, by id, which count up to now."""
        self._policy = policy
        self._now = now
        self._half = policy.half_life.total_seconds()
        self._ended = {use.user: use for use in uses}
        self._running: defaultdict[str, list[Turn]] = defaultdict(list)
        for turn in running:
            self._running[turn.task.user].append(turn)

    def of(self, user: str) -> float:
        """Node seconds; 0 for a user who has held nothing lately."""
        half, now = self._policy.half_life, self._now
        ended = self._ended.get(user)
        seconds = decayed(ended, now, half) if ended is not None else 0.0
        for turn in self._running.get(user, ()):
            seconds += turn.share * _between(0.0, (now - turn.run.started_at).total_seconds(), self._half)
        return seconds / self._policy.weights.get(user, 1.0)
