"""How long tasks like one have run: what a forecast takes for its length where no time limit says it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final

from hai_scheduler.core.model.task import Task

#: Ended tasks of a node group that are looked at, the newest.
KEPT: Final = 1000


class Basis(StrEnum):
    """What the length of a task is taken from."""

    #: Its own time limit.
    TIME_LIMIT = "time_limit"
    #: The user's ended tasks of the same name.
    NAME = "name"
    #: The user's ended tasks of the same size.
    SIZE = "size"
    #: Everybody's ended tasks of the node group.
    GROUP = "group"
    #: Nothing: it never ends by itself.
    UNKNOWN = "unknown"


class History:
    """The running times of ended tasks of one node group, by what they have in common with others."""

    def __init__(self, ended: Iterable[Task]) -> None:
        #: In seconds.
        self._times: defaultdict[tuple[object, ...], list[float]] = defaultdict(list)
        for task in ended:
            if task.served > timedelta(0):
                for key in _keys(task).values():
                    self._times[key].append(task.served.total_seconds())

    def left(self, task: Task, now: datetime) -> tuple[Basis, timedelta | None]:
        """How much longer the task runs by itself, over all its turns; None is for ever.

        A time limit is not counted here: the plan itself ends a task that reaches it. Else it is the median
        of those that ran longer than the task has run so far.
        """
        if task.time_limit is not None:
            return Basis.TIME_LIMIT, None
        run = task.live_run
        so_far = task.served
        if run is not None and run.running_at is not None:
            so_far += max(timedelta(0), now - run.running_at)
        for basis, key in _keys(task).items():
            longer = [seconds for seconds in self._times.get(key, ()) if seconds > so_far.total_seconds()]
            if longer:
                return basis, timedelta(seconds=median(longer)) - so_far
        return Basis.UNKNOWN, None


def _keys(task: Task) -> dict[Basis, tuple[object, ...]]:
    """What a task is found under, the closest kin first."""
    return {
        Basis.NAME: ("name", task.user, task.name),
        Basis.SIZE: ("size", task.user, task.nodes, task.gpus),
        Basis.GROUP: ("group", task.group),
    }
