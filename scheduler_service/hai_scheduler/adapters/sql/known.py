"""Tasks that this process has read before.

A tick reads every unfinished task, and of thousands only a few have changed since the last one. To build the values
takes ten times as long as to ask which version each has.
"""

from __future__ import annotations

from collections.abc import Mapping

from hai_scheduler.core.model import Task, TaskId

#: Version and when it was written: a database that was restored, or taken over from a replica that lagged, may come
#: to the same version a second time with other content, but not at the same microsecond.
Stamp = tuple[int, int]


class KnownTasks:
    """What the transactions of one store share: all unfinished tasks as of the last time that somebody read them.

    Only what had been committed when it was read belongs here. The mapping is replaced, never changed.
    """

    def __init__(self) -> None:
        self.tasks: Mapping[TaskId, tuple[Stamp, Task]] = {}
