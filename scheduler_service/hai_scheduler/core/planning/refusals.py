"""The sizes of tasks that were refused in a walk, so that they need not be tried again."""

from __future__ import annotations

from collections import defaultdict
from enum import Enum, auto

from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.queue import Subqueue, Unplaceable
from hai_scheduler.core.ordering.task_buckets import RequestShape, shape_of
from hai_scheduler.core.planning.queue_head import QueueHead


class Scope(Enum):
    """Which other tasks of the same size, or of a harder one, are refused together with a task."""

    #: All tasks.
    EVERYBODY = auto()
    #: Tasks that may not use the nodes reserved for the head of the queue (B2).
    NOT_PASSING = auto()
    #: Tasks of the same user: equal tasks of that user do not leave for them (P3).
    USER = auto()
    #: No other task: the reason lies in the task itself (P5, F3).
    TASK = auto()


class Refusals:
    """The sizes that were refused in one walk through the tasks of one priority.

    `forget` clears them at the beginning of each walk, and only then. A step that frees nodes which refused tasks
    might use calls `reopen`; another walk follows.
    """

    def __init__(self, head: QueueHead) -> None:
        self._head = head
        self._everybody: set[RequestShape] = set()
        self._not_passing: set[RequestShape] = set()
        self._of_user: defaultdict[str, set[RequestShape]] = defaultdict(set)
        #: Whether a refusal held for one task or user only (P3, P5, F3): nodes that are freed later may suit it.
        self.some_specific = False
        #: Whether nodes came free that refused tasks may use, so that another walk must follow.
        self.reopened = False
        #: A view of the refusals for the queue; it always shows the current ones.
        self.unplaceable = Unplaceable(self._everybody, self.covers, self.covers_all, head.stays_before)

    def forget(self) -> None:
        """Clear all refusals, at the beginning of a walk."""
        self._everybody.clear()
        self._not_passing.clear()
        self._of_user.clear()
        self.some_specific = self.reopened = False

    def reopen(self, *, when: bool = True) -> None:
        """Note, if `when` is true, that nodes came free which refused tasks may use."""
        self.reopened |= when

    def add(self, task: Task, subqueue: Subqueue, scope: Scope) -> None:
        """Refuse, in that scope, all sizes of the subqueue that are no easier to place than the task."""
        gpus, nodes = shape_of(task)
        harder = {shape for shape in subqueue.shapes if shape.gpus >= gpus and shape.nodes >= nodes}
        if scope is Scope.EVERYBODY:
            self._everybody |= harder
            return
        if scope is Scope.NOT_PASSING:
            self._not_passing |= harder
            return
        self.some_specific = True
        if scope is Scope.USER:
            self._of_user[task.user] |= harder

    def covers(self, task: Task) -> bool:
        """Whether the task is refused because others of its size were, in a scope that includes it."""
        if task.promise:
            return False
        shape = shape_of(task)
        if shape in self._everybody or shape in self._of_user.get(task.user, ()):
            return True
        return shape in self._not_passing and not self._head.is_passed_by(task)

    def covers_all(self, user: str, shape: RequestShape) -> bool | None:
        """Return what `covers` says of all tasks of that user and size without a promise; None if they differ."""
        if shape in self._everybody or shape in self._of_user.get(user, ()):
            return True
        return None if shape in self._not_passing else False

    def cover_subqueue(self, subqueue: Subqueue) -> bool:
        """Whether no task left in the subqueue can be served: all sizes are refused, and no task has a promise."""
        return len(self._everybody) >= len(subqueue.shapes) and not subqueue.promised
