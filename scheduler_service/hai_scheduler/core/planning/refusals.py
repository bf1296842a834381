"""What need not be tried again: the sizes of tasks for which nothing could be done."""

from __future__ import annotations

from collections import defaultdict
from enum import Enum, auto

from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.parts import Size, size_of
from hai_scheduler.core.ordering.queue import Hopeless, Lane
from hai_scheduler.core.planning.queue_head import QueueHead


class Scope(Enum):
    """Which other tasks of the same size, or of a harder one, are refused together with a task."""

    #: All of them.
    EVERYBODY = auto()
    #: Those that may not use the nodes kept for the head of the queue (B2).
    NOT_PASSING = auto()
    #: Those of the same user, whose own tasks do not leave for them (P3).
    USER = auto()
    #: None: the reason lies in the task itself (P5, F3).
    TASK = auto()


class Refusals:
    """The sizes that were refused in one walk through the tasks of one priority.

    They are forgotten at the beginning of each walk, and only then: `forget`. What frees room that refused tasks might
    use calls `reopen`; then there is another walk.
    """

    def __init__(self, head: QueueHead) -> None:
        self._head = head
        self._everybody: set[Size] = set()
        self._not_passing: set[Size] = set()
        self._of_user: defaultdict[str, set[Size]] = defaultdict(set)
        #: Whether a refusal held for less than all tasks (P3, P5, F3): nodes that are freed later may suit others.
        self.some_specific = False
        #: Whether room came free that refused tasks may use: the walk is to be made again.
        self.reopened = False
        #: What the queue needs to know of the refusals. It goes on saying what is refused at the moment.
        self.hopeless = Hopeless(self._everybody, self.covers, self.covers_all, head.stays_before)

    def forget(self) -> None:
        """Begin a walk: nothing is refused."""
        self._everybody.clear()
        self._not_passing.clear()
        self._of_user.clear()
        self.some_specific = self.reopened = False

    def reopen(self, *, when: bool = True) -> None:
        """Room came free, if `when` says so, that refused tasks may use."""
        self.reopened |= when

    def add(self, task: Task, lane: Lane, scope: Scope) -> None:
        """Refuse the sizes of the lane that are no easier to place than the task, in that scope."""
        gpus, nodes = size_of(task)
        harder = {size for size in lane.sizes if size[0] >= gpus and size[1] >= nodes}
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
        """Whether nothing can be done for the task, because of what was refused to others."""
        if task.promise:
            return False
        size = size_of(task)
        if size in self._everybody or size in self._of_user.get(task.user, ()):
            return True
        return size in self._not_passing and not self._head.is_passed_by(task)

    def covers_all(self, user: str, size: Size) -> bool | None:
        """What `covers` says of each task of that user and size without a promise; None if they differ."""
        if size in self._everybody or size in self._of_user.get(user, ()):
            return True
        return None if size in self._not_passing else False

    def cover_lane(self, lane: Lane) -> bool:
        """Whether nothing can be done for what is left in the lane: all sizes are refused, nothing is promised."""
        return len(self._everybody) >= len(lane.sizes) and not lane.promised
