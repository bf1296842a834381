"""Estimates how long a task runs: by what its job reports, its time limit, or similar tasks that have ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.task import Task

#: How many ended tasks of a node group are used, the newest.
KEPT: Final = 1000


class Basis(StrEnum):
    """The source of the assumed length of a task."""

    #: The steps that its job reports, and how long they take.
    PROGRESS = "progress"
    #: The task's own time limit.
    TIME_LIMIT = "time_limit"
    #: The user's ended tasks of the same name.
    NAME = "name"
    #: The user's ended tasks of the same size.
    SIZE = "size"
    #: All users' ended tasks of the node group.
    GROUP = "group"
    #: There is no source: the task is taken as without an end.
    UNKNOWN = "unknown"


class History:
    """The running times of ended tasks of one node group, by the keys that similar tasks share.

    Args:
        ended: These tasks.
        progress: What jobs of tasks that have not ended have reported.
    """

    def __init__(self, ended: Iterable[Task], progress: Mapping[TaskId, StepProgress] | None = None) -> None:
        self._progress = progress or {}
        #: In seconds.
        self._times: defaultdict[tuple[object, ...], list[float]] = defaultdict(list)
        for task in ended:
            if task.served > timedelta(0):
                for key in _keys(task).values():
                    self._times[key].append(task.served.total_seconds())

    def left(self, task: Task, now: datetime) -> tuple[Basis, timedelta | None]:
        """The remaining running time of the task over all its turns, and its source; None is without an end.

        What its job reports comes first, unless it is overdue by that. For a task with a time limit the time is None:
        the plan itself ends the task at the limit, which holds for all. For others it is the median of similar tasks
        that ran longer than this one so far, less its own running time.
        """
        run, reported = task.live_run, self._progress.get(task.id)
        left = None if reported is None else reported.left(now, running_since=None if run is None else run.running_at)
        if left:
            return Basis.PROGRESS, left
        if task.time_limit is not None:
            return Basis.TIME_LIMIT, None
        so_far = task.served
        if run is not None and run.running_at is not None:
            so_far += max(timedelta(0), now - run.running_at)
        for basis, key in _keys(task).items():
            longer = [seconds for seconds in self._times.get(key, ()) if seconds > so_far.total_seconds()]
            if longer:
                return basis, timedelta(seconds=median(longer)) - so_far
        return Basis.UNKNOWN, None


def _keys(task: Task) -> dict[Basis, tuple[object, ...]]:
    """The keys of a task, the one with the most similar tasks first."""
    return {
        Basis.NAME: ("name", task.user, task.name),
        Basis.SIZE: ("size", task.user, task.nodes, task.gpus),
        Basis.GROUP: ("group", task.group),
    }
