"""Which nodes are whose while a plan is being made. Private to `plan`; a snapshot is never changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hai_scheduler.core.model import Node, Priority, Task, TaskId


@dataclass(frozen=True, slots=True)
class Promise:
    """A node that is kept for a waiting task (B3)."""

    task_id: TaskId
    priority: Priority


class Ledger:
    """Free nodes, leaving nodes and promises of one node group."""

    def __init__(self, nodes: Iterable[Node], live: Iterable[Task]) -> None:
        self.nodes = {node.name: node for node in sorted(nodes, key=lambda node: node.name)}
        #: Nodes that no run holds, by name (F4).
        self._free: dict[str, None] = dict.fromkeys(self.nodes)
        #: Nodes whose run has been told to leave.
        self._leaving: dict[str, Task] = {}
        self._promised: dict[str, Promise] = {}
        for task in live:
            run = task.live_run
            for name in run.nodes if run else ():
                self._free.pop(name, None)
                if run and run.notice is not None and name in self.nodes:
                    self._leaving[name] = task
        self._leaving = dict(sorted(self._leaving.items()))

    def promise(self, names: Iterable[str], task_id: TaskId, priority: Priority) -> None:
        """Keep the nodes for a task; a later, higher promise wins."""
        for name in names:
            self._promised[name] = Promise(task_id, priority)

    def promised_to(self, task_id: TaskId) -> list[str]:
        """Nodes kept for the task, by name."""
        return sorted(name for name, promise in self._promised.items() if promise.task_id == task_id)

    def _open_to(self, name: str, task: Task, priority: Priority) -> bool:
        """Whether the task may have that node: it may be placed there (F3), and no promise forbids it (B3)."""
        if not self.nodes[name].schedulable or name in task.avoid:
            return False
        promise = self._promised.get(name)
        if promise is None or promise.task_id == task.id:
            return True
        return promise.priority < priority and promise.task_id != task.left_for  # P5

    def free_for(self, task: Task, priority: Priority) -> list[str]:
        """Nodes that the task could start on now: its own promises first, then by name (F4)."""
        return self._preferred(task, [n for n in self._free if self._open_to(n, task, priority)])

    def coming_for(self, task: Task, priority: Priority) -> list[str]:
        """Nodes that are being freed and may become the task's: its own promises first, then by name."""
        return self._preferred(task, [n for n in self._leaving if self._open_to(n, task, priority)])

    def _preferred(self, task: Task, names: list[str]) -> list[str]:
        def own_first(name: str) -> tuple[bool, str]:
            promise = self._promised.get(name)
            return promise is None or promise.task_id != task.id, name

        return sorted(names, key=own_first)

    def usable(self, task: Task, names: Iterable[str]) -> list[str]:
        """Those of the names that the task may ever be placed on as things are (F3)."""
        return [n for n in names if n in self.nodes and self.nodes[n].schedulable and n not in task.avoid]

    def leaving_of(self, name: str) -> Task | None:
        """The task that is leaving the node, if one is."""
        return self._leaving.get(name)

    def take(self, names: Iterable[str]) -> None:
        """The nodes are a starting run's now."""
        for name in names:
            del self._free[name]
            self._promised.pop(name, None)

    def leave(self, task: Task) -> None:
        """The task has been told to leave."""
        for name in task.live_run.nodes if task.live_run else ():
            if name in self.nodes:
                self._leaving[name] = task
