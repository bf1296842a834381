"""The promises of nodes to waiting tasks, found by task and by node (rule B3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from operator import attrgetter

from hai_scheduler.core.capacity.node_states import NodeState, NodeStates, Promise
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup


class PromisedNodes:
    """An index of the promises of a node group; each promise is kept in `promises` of its node."""

    def __init__(self, node_group: NodeGroup, node_states: NodeStates) -> None:
        self._node_group = node_group
        self._node_states = node_states
        #: Nodes with promises.
        self.names: dict[str, None] = {}
        self._of_task: defaultdict[TaskId, set[str]] = defaultdict(set)
        #: Tasks that are promised nodes of several zones (F2).
        self._across: dict[TaskId, Priority] = {}
        #: The lowest priority of any promise; None: not computed yet, or no promise.
        self._lowest: Priority | None = None

    def to(self, task: Task) -> list[str]:
        """Return the names of the nodes that are promised to the task, sorted."""
        return sorted(self._of_task.get(task.id, ()))

    def is_to(self, name: str, task_id: TaskId | None) -> bool:
        """Whether GPUs of the node are promised to the task."""
        return task_id is not None and any(promise.task_id == task_id for promise in self._node_states[name].promises)

    def are_below(self, priority: Priority) -> bool:
        """Whether there is a promise of lower priority."""
        if self._lowest is None:
            promises = (promise for name in self.names for promise in self._node_states[name].promises)
            self._lowest = min((promise.priority for promise in promises), default=None)
        return self._lowest is not None and self._lowest < priority

    def across_zones(self, task: Task, priority: Priority) -> int:
        """Return how many promises to others that the task must respect are of nodes in several zones (F2)."""
        return sum(
            level >= priority or task_id == task.left_for
            for task_id, level in self._across.items()
            if task_id != task.id
        )

    def add(self, node_state: NodeState, task: Task, priority: Priority) -> set[TaskId]:
        """Promise a task the GPUs that it takes of the node.

        Returns:
            The tasks whose promises on the node had to give way because they were of lower priority.
        """
        gave_way: set[TaskId] = set()
        want = node_state.amount(task)
        node_state.promises = [promise for promise in node_state.promises if promise.task_id != task.id]
        have = len(node_state.free) + node_state.leaving()
        for other in sorted(node_state.promises, key=attrgetter("priority")):
            if have - node_state.kept() >= want or other.priority >= priority:
                break
            self._withdraw(other, node_state)
            gave_way.add(other.task_id)
        node_state.promises.append(Promise(task.id, priority, want))
        self.names[node_state.node.name] = None
        self._of_task[task.id].add(node_state.node.name)
        return gave_way

    def note_zones(self, names: Collection[str], task: Task, priority: Priority) -> None:
        """Note whether the nodes, which are all that the task is promised, lie in several zones (F2)."""
        if self._node_group.spans_zones(names):
            self._across[task.id] = priority

    def remove(self, task: Task) -> list[NodeState]:
        """Remove all promises to the task, and return the nodes on which they were, sorted by name."""
        self._across.pop(task.id, None)
        node_states = [self._node_states[name] for name in self.to(task)]
        for node_state in node_states:
            node_state.promises = [promise for promise in node_state.promises if promise.task_id != task.id]
        self._of_task.pop(task.id, None)
        return node_states

    def fit(self, node_state: NodeState) -> set[TaskId]:
        """Remove promises that the node cannot keep any more, lowest first, and return their tasks."""
        gave_way: set[TaskId] = set()
        have = len(node_state.free) + node_state.leaving()
        for promise in sorted(node_state.promises, key=attrgetter("priority")):
            if node_state.kept() <= have:
                break
            self._withdraw(promise, node_state)
            gave_way.add(promise.task_id)
        return gave_way

    def _withdraw(self, promise: Promise, node_state: NodeState) -> None:
        node_state.promises.remove(promise)
        self._of_task[promise.task_id].discard(node_state.node.name)

    def update(self, node_state: NodeState) -> None:
        """Update the index after the promises on the node, which is one of `names`, have changed."""
        self._lowest = None
        if not node_state.promises:
            self.names.pop(node_state.node.name, None)

    def tasks(self) -> set[TaskId]:
        """Return the tasks that have promises."""
        return {task_id for task_id, names in self._of_task.items() if names}

    def check(self) -> None:
        """Raise AssertionError unless the index agrees with the promises on the nodes."""
        there = {
            (promise.task_id, name) for name in self._node_group.nodes for promise in self._node_states[name].promises
        }
        assert there == {(task_id, name) for task_id, names in self._of_task.items() for name in names}
        assert {name for _, name in there} == set(self.names)
        assert self._across.keys() <= self.tasks(), "a task without a promise counts as spanning zones"
