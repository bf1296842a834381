"""What a node group has while a plan is made: which task holds, or is promised, which GPUs (U2, B3, B4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hai_scheduler.core.capacity.free_pools import FreePools
from hai_scheduler.core.capacity.node_states import NodeState, NodeStates
from hai_scheduler.core.capacity.promised_nodes import PromisedNodes
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.turns import Turn


class GroupCapacity:
    """Free, leaving, promised and reserved GPUs of one node group. Only this class changes them.

    Invariant: between two changes, `pools` agree with the open GPUs of each node, and `promised` with the promises on
    each node. `FeasibleNodes` finds the nodes for a task in it.
    """

    def __init__(self, node_group: NodeGroup, turns: Collection[Turn]) -> None:
        self.node_group = node_group
        #: Turns that this plan begins.
        self.started: list[Turn] = []
        #: Turns that span zones (F2).
        self.cross_zone_turns = [turn for turn in turns if turn.crosses]
        #: Nodes that are reserved for the head of the queue (B1).
        self.reserved: Mapping[str, None] = {}
        #: Whether GPUs of reserved nodes are free; None: not computed yet.
        self._keeps_free: bool | None = False
        #: Nodes where a turn is leaving.
        self.leaving: dict[str, None] = {}
        #: Whole-node gangs that ran before the plan, and those of their nodes that are usable and have no promise: such
        #: nodes of one gang all become free at the same time.
        self.gangs = [turn for turn in turns if turn.whole]
        self.node_states = NodeStates(node_group, self.gangs)
        self.gang_nodes = self.node_states.of_gangs()
        self.promised = PromisedNodes(node_group, self.node_states)
        for turn in turns:
            if not turn.whole:
                self._seat(turn)
            if turn.leaving:
                self.leaving.update(dict.fromkeys(name for name in turn.nodes if name in node_group.nodes))
        #: The nodes that are not `gang_nodes`; None: not computed yet.
        self._others: list[NodeState] | None = None
        self.pools = FreePools(self.others)
        #: Nodes whose open GPUs, promises or holders have changed, in order; `preemption` reads on from where it was.
        self.changed: list[str] = []
        #: Results of `count_soon`, each with the number of changes before it.
        self._soon: dict[int | None, tuple[int, int]] = {}

    def _seat(self, turn: Turn) -> None:
        for rank in turn.run.ranks:
            node_state = self.node_states.find(rank.node)
            if node_state is not None:
                node_state.turns.append(turn)
                node_state.free = [gpu for gpu in node_state.free if gpu not in rank.gpus]

    # -- what there is ----------------------------------------------------------------------------

    @property
    def others(self) -> list[NodeState]:
        """The nodes that are not `gang_nodes`."""
        if self._others is None:
            self._others = [self.node_states[name] for name in sorted(self.node_group.nodes.keys() - self.gang_nodes)]
        return self._others

    @property
    def keeps_free(self) -> bool:
        """Whether GPUs that are reserved for the head of the queue are free now (B1)."""
        if self._keeps_free is None:
            states = [self.node_states[name] for name in self.reserved]
            self._keeps_free = any(len(state.free) > state.taken for state in states)
        return self._keeps_free

    def crossing(self, task: Task, priority: Priority, *, soon: bool) -> int:
        """Return how many runs, and promises that the task must respect, span zones (F2, B3).

        With `soon`, runs that are leaving do not count.
        """
        runs = sum(not (soon and turn.leaving) for turn in self.cross_zone_turns)
        return runs + self.promised.across_zones(task, priority)

    def count_open(self, gpus: int | None) -> int:
        """Return on how many nodes any task could take that many GPUs now (None: whole nodes)."""
        return self.pools.count(gpus, self.node_group.gpus_per_node)

    def count_soon(self, gpus: int | None) -> int:
        """Return on how many further nodes any task could take that many GPUs once the leaving runs have left."""
        known = self._soon.get(gpus)
        if known is None or known[0] < len(self.changed):
            known = self._soon[gpus] = len(self.changed), self._count_soon(gpus)
        return known[1]

    def _count_soon(self, gpus: int | None) -> int:
        count = 0
        for name in self.leaving:
            node_state = self.node_states[name]
            if node_state.reserved or not node_state.usable:
                continue
            want = node_state.size if gpus is None else gpus
            count += node_state.shown < want <= len(node_state.free) + node_state.leaving() - node_state.kept()
        return count

    def has_left(self, name: str) -> bool:
        """Whether the node has GPUs that are free, or being freed, and not promised to any task."""
        node_state = self.node_states.find(name)
        return node_state is not None and len(node_state.free) + node_state.leaving() > node_state.kept()

    # -- changes ----------------------------------------------------------------------------------

    def promise(self, names: Collection[str], task: Task, priority: Priority) -> set[TaskId]:
        """Promise nodes to a task.

        Returns:
            The tasks whose promises on these nodes had to give way because they were of lower priority.
        """
        gave_way: set[TaskId] = set()
        for name in names:
            node_state = self.node_states[name]
            gave_way |= self.promised.add(node_state, task, priority)
            if name in self.gang_nodes:
                self.gang_nodes.discard(name)
                self._others = None
            self._update(node_state)
        self.promised.note_zones(names, task, priority)
        return gave_way

    def release(self, task: Task) -> None:
        """End all promises to the task."""
        for node_state in self.promised.remove(task):
            self._update(node_state)

    def take(self, names: Iterable[str], turn: Turn) -> tuple[tuple[tuple[int, ...], ...], set[TaskId]]:
        """Give the nodes to a run that starts.

        Returns:
            The GPU indices by rank, empty for whole nodes (U2), and the tasks whose promises on them had to give way.
        """
        indices: list[tuple[int, ...]] = []
        gave_way: set[TaskId] = set()
        for name in names:
            node_state = self.node_states[name]
            want = node_state.amount(turn.task)
            if turn.task.gpus is not None:
                indices.append(tuple(node_state.free[:want]))
            node_state.free = node_state.free[want:]
            node_state.turns.append(turn)
            gave_way |= self.promised.fit(node_state)
            self._update(node_state)
        self.started.append(turn)
        self._keeps_free = None
        if turn.crosses:
            self.cross_zone_turns.append(turn)
        return tuple(indices), gave_way

    def leave(self, turn: Turn) -> None:
        """Note that the run is told to leave."""
        turn.leaving = True
        for name in turn.nodes:
            if name in self.node_group.nodes:
                self.leaving[name] = None
                self.changed.append(name)

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve the nodes for the head of the queue (B1), in place of those that were reserved before."""
        before, self.reserved = self.reserved, dict.fromkeys(names)
        self._keeps_free = None
        for name in (*before, *self.reserved):
            self.node_states[name].reserved = name in self.reserved
            self._update(self.node_states[name])

    def _update(self, node_state: NodeState) -> None:
        """Update the indexes after free GPUs, holders or promises of the node have changed."""
        if node_state.node.name in self.promised.names:
            self.promised.update(node_state)
        self.pools.update(node_state)
        self.changed.append(node_state.node.name)

    def check(self) -> None:
        """Raise AssertionError unless every GPU has at most one holder (B4) and all indexes agree."""
        for node_state in self.node_states.all():
            held = sum(node_state.size if turn.whole else turn.task.gpus or 0 for turn in node_state.turns)
            assert held + len(node_state.free) == node_state.size, (
                f"{node_state.name}: {held} held, {len(node_state.free)} free"
            )
            assert node_state.reserved == (node_state.name in self.reserved), node_state.name
            leaves = any(turn.leaving for turn in node_state.turns)
            assert not leaves or node_state.name in self.leaving, f"{node_state.name} is being freed, and is not listed"
        self.pools.check(self.others)
        self.promised.check()
