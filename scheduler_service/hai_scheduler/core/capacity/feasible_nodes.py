"""The nodes that a task can have, now or soon; `placement` chooses among them (rules B1, B3, F3, P5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.node_states import NodeState
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.placement import Leaf


class FeasibleNodes:
    """Finds the nodes that are open to a task, in order of preference: promised to it, fullest, by name (U2, F4).

    This class reads the capacity of the group and does not change it.
    """

    def __init__(self, capacity: GroupCapacity) -> None:
        self._capacity = capacity
        self._node_states = capacity.node_states

    # -- kinds of tasks ---------------------------------------------------------------------------

    def differ(self, task: Task, priority: Priority) -> bool:
        """Whether the nodes open to the task may differ from those open to all tasks with as many GPUs."""
        if task.avoid or (self._capacity.node_group.mixed and task.gpus is not None):
            return True
        promised = self._capacity.promised
        return bool(promised.names) and (bool(task.promise) or promised.are_below(priority))

    def stand_for_all(self, task: Task) -> bool:
        """Whether a refusal of the task holds for every task of its priority that is no smaller."""
        return not (task.avoid or task.promise or (self._capacity.node_group.mixed and task.gpus is not None))

    # -- now --------------------------------------------------------------------------------------

    def now(self, task: Task, priority: Priority, *, reserved: bool = False) -> list[str]:
        """Return the nodes on which the task could start now; with `reserved` also those reserved for the head (B2)."""
        names = self._capacity.pools.names(task.gpus)
        extra = [*self._capacity.promised.names, *(self._capacity.reserved if reserved else ())]
        names += [name for name in extra if self._has_room(self._node_states[name], task, priority, reserved=reserved)]
        names = [name for name in dict.fromkeys(names) if self._node_states[name].suits(task)]
        return self._preferred(names, task)

    def now_among(self, names: Iterable[str], task: Task, priority: Priority, *, reserved: bool = False) -> list[str]:
        """Return those of the given nodes on which the task could start now."""
        node_states = (self._node_states[name] for name in names if name in self._capacity.node_group.nodes)
        suiting = [node_state for node_state in node_states if node_state.suits(task)]
        own = [
            node_state.node.name
            for node_state in suiting
            if self._has_room(node_state, task, priority, reserved=reserved)
        ]
        return self._preferred(own, task)

    def _has_room(self, node_state: NodeState, task: Task, priority: Priority, *, reserved: bool) -> bool:
        """Whether the node has enough free GPUs beside promises that the task must respect (B1, B3, P5)."""
        if node_state.reserved and not reserved:
            return False
        have, want = len(node_state.free), node_state.amount(task)
        return have >= want and have - node_state.kept_from(task, priority) >= want

    # -- soon -------------------------------------------------------------------------------------

    def soon(self, task: Task, priority: Priority) -> list[str]:
        """Return the nodes that are being freed and that the task may get; nodes open now are not among them."""
        names = dict.fromkeys((*self._capacity.leaving, *self._capacity.promised.names))
        return self._preferred([name for name in names if self._will_do(self._node_states[name], task, priority)], task)

    def soon_among(self, names: Iterable[str], task: Task, priority: Priority) -> list[str]:
        """Return those of the given nodes that are being freed and that the task may get."""
        node_states = (self._node_states[name] for name in names if name in self._capacity.node_group.nodes)
        return self._preferred(
            [node_state.node.name for node_state in node_states if self._will_do(node_state, task, priority)], task
        )

    def _will_do(self, node_state: NodeState, task: Task, priority: Priority) -> bool:
        if node_state.reserved or not node_state.suits(task):
            return False
        have = len(node_state.free) - node_state.kept_from(task, priority)
        want = node_state.amount(task)
        return have < want <= have + node_state.leaving()

    # -- among them -------------------------------------------------------------------------------

    def without_others(self, names: Iterable[str], task: Task) -> list[str]:
        """Return those of the given nodes that the task can have while all promises to other tasks are kept."""
        return [name for name in names if self._has_room_beside_promises(self._node_states[name], task)]

    def _has_room_beside_promises(self, node_state: NodeState, task: Task) -> bool:
        if not node_state.promises:
            return True
        others = sum(promise.gpus for promise in node_state.promises if promise.task_id != task.id)
        return len(node_state.free) + node_state.leaving() - node_state.taken - others >= node_state.amount(task)

    def by_leaf(self, names: Iterable[str]) -> dict[Leaf, list[str]]:
        """Return the names by leaf; each list keeps their order."""
        found: defaultdict[Leaf, list[str]] = defaultdict(list)
        for name in names:
            found[self._node_states[name].leaf].append(name)
        return found

    def _preferred(self, names: Iterable[str], task: Task) -> list[str]:
        return sorted(names, key=lambda name: self._preference(self._node_states[name], task))

    def _preference(self, node_state: NodeState, task: Task) -> tuple[bool, int, str]:
        own = any(promise.task_id == task.id for promise in node_state.promises) or node_state.node.name in task.promise
        return not own, node_state.shown, node_state.node.name
