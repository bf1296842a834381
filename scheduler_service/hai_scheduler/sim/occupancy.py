"""How much of the simulated cluster tasks hold, and how much they wait for."""

from __future__ import annotations

from collections.abc import Iterable

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import largest
from hai_scheduler.core.ordering.usage import share_of

#: How far sums of shares may differ, in nodes.
_ROUNDING = 1e-6


class Occupancy:
    """The tasks of the cluster, and counts of them that always follow from the tasks, so that no plan counts again."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        #: Every task that has been submitted and has not ended.
        self.tasks: dict[TaskId, Task] = {}
        #: GPUs of the largest node of each group.
        self.widths = largest(nodes)
        #: Whether the state has changed so that a new plan may be needed.
        self.stirred = False
        #: How many tasks wait for a turn, without held ones, and how many nodes they need.
        self.waiting = 0
        self.wanted = 0.0
        #: How many nodes runs hold, parts of nodes as fractions.
        self.held = 0.0

    def share(self, task: Task) -> float:
        """Return how many nodes the task holds while it runs, parts of nodes as fractions."""
        return share_of(task, self.widths.get(task.group, 0))

    def put(self, before: Task | None, after: Task) -> None:
        """Store a changed task, and update the counts of waiting tasks.

        Args:
            before: The task before the change; None: it is new.
            after: The task after the change.
        """
        waited = before is not None and before.state.waiting and not before.held
        waits = after.state.waiting and not after.held
        if waits != waited:
            sign = 1 if waits else -1
            self.waiting += sign
            self.wanted += sign * self.share(after)
            self.stirred = self.stirred or waits
        if after.state.ended:
            self.tasks.pop(after.id, None)
        else:
            self.tasks[after.id] = after

    def take(self, task: Task) -> None:
        """Count the nodes of a run that begins."""
        self.held += self.share(task)

    def give_back(self, task: Task) -> None:
        """Count the nodes of a run that is over, which tasks may wait for."""
        self.held -= self.share(task)
        self.stir_waiting()

    def stir_waiting(self) -> None:
        """Note that tasks that wait may find room now."""
        self.stirred = self.stirred or self.waiting > 0

    def check(self) -> None:
        """Check the counts against the tasks. Raises AssertionError."""
        waiting = [task for task in self.tasks.values() if task.state.waiting and not task.held]
        running = [task for task in self.tasks.values() if task.live_run is not None]
        counted = self.waiting, self.wanted, self.held
        there = len(waiting), sum(map(self.share, waiting)), sum(map(self.share, running))
        # Sums of fractions differ in the last digits by the order in which they were added.
        agree = all(abs(one - other) < _ROUNDING for one, other in zip(counted, there, strict=True))
        assert agree, f"waiting, wanted, held: counted {counted}, but there are {there}"
