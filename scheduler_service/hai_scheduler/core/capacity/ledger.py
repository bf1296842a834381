"""Which GPUs are whose while a plan is being made (rules U2, B3, B4). Private to `plan`."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterable
from operator import attrgetter

from hai_scheduler.core.capacity.spots import Promise, Spot, Spots
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.floor import Floor
from hai_scheduler.core.nodes.placement import Leaf
from hai_scheduler.core.ordering.turns import Turn


class Ledger:
    """Free, leaving, promised and reserved GPUs of one node group.

    What is open to everybody is kept in pools, so that a plan of many tasks does not look at every node for each
    of them: `empty` whole nodes by leaf, and shared nodes by how many GPUs are open there.
    """

    def __init__(self, floor: Floor, turns: Collection[Turn]) -> None:
        self.floor = floor
        #: Turns that the plan begins.
        self.started: list[Turn] = []
        #: Runs that span zones, and waiting tasks that have been promised nodes of several (F2).
        self.crossers = [turn for turn in turns if turn.crosses]
        self._to_cross: dict[TaskId, Priority] = {}
        self._reserved: dict[str, None] = {}
        #: Whether GPUs of reserved nodes are free; None: to be found.
        self._keeps_free: bool | None = False
        #: The lowest priority that anything is promised at; None: to be found.
        self._lowest: Priority | None = None
        #: Nodes where somebody is leaving, and nodes with promises.
        self._leaving: dict[str, None] = {}
        self._promised: dict[str, None] = {}
        #: The nodes that are promised to each task.
        self._of_task: defaultdict[TaskId, set[str]] = defaultdict(set)
        #: Whole-node gangs that were there from the start, and those of their nodes that have one holder, no promise
        #: and can be used: what is known of such a gang holds for all of them.
        self.gangs = [turn for turn in turns if turn.whole]
        self.spots = Spots(floor, self.gangs)
        self.gang_nodes = self.spots.of_gangs()
        for turn in turns:
            if not turn.whole:
                self._seat(turn)
            if turn.leaving:
                self._leaving.update(dict.fromkeys(name for name in turn.nodes if name in floor.nodes))
        #: The other nodes; None: to be found.
        self._others: list[Spot] | None = None
        self.empty: defaultdict[Leaf, list[str]] = defaultdict(list)
        self.empties = 0
        self._part: defaultdict[int, list[str]] = defaultdict(list)
        #: Shared or waited-for nodes whose open GPUs have changed since somebody looked (see `preemption`).
        self.changed: list[str] = []
        #: What `count_soon` found, and after how many changes.
        self._soon: dict[int | None, tuple[int, int]] = {}
        for spot in self.others:  # by name: what is put at the end of a list keeps it sorted
            shown = len(spot.free) if spot.usable else 0
            spot.shown = shown
            if shown == spot.size:
                self.empty[spot.leaf].append(spot.node.name)
                self.empties += 1
            elif shown:
                self._part[shown].append(spot.node.name)

    def _seat(self, turn: Turn) -> None:
        for rank in turn.run.ranks:
            spot = self.spots.find(rank.node)
            if spot is not None:
                spot.turns.append(turn)
                spot.free = [gpu for gpu in spot.free if gpu not in rank.gpus]

    def crossing(self, task: Task, priority: Priority, *, soon: bool) -> int:
        """How many runs, and promises that the task must respect, span zones now or, `soon`, still will (F2, B3)."""
        runs = sum(not (soon and turn.leaving) for turn in self.crossers)
        return runs + sum(
            level >= priority or task_id == task.left_for
            for task_id, level in self._to_cross.items()
            if task_id != task.id
        )

    # -- pools ------------------------------------------------------------------------------------

    def _open(self, spot: Spot) -> int:
        """GPUs that are open to everybody now."""
        if spot.reserved or not spot.usable:
            return 0
        return len(spot.free) - spot.kept() if spot.promises else len(spot.free)

    def _file(self, spot: Spot) -> None:
        self._lowest = None
        before, now = spot.shown, max(0, self._open(spot))
        self.changed.append(spot.node.name)
        if before == now:
            return
        if before:
            self._unlist(spot, before)
        if now == spot.size:
            insort(self.empty[spot.leaf], spot.node.name)
            self.empties += 1
        elif now:
            insort(self._part[now], spot.node.name)
        spot.shown = now

    def _unlist(self, spot: Spot, shown: int) -> None:
        if shown == spot.size:
            names = self.empty[spot.leaf]
            self.empties -= 1
        else:
            names = self._part[shown]
        del names[bisect_left(names, spot.node.name)]

    # -- what is open to a task -------------------------------------------------------------------

    def count_open(self, gpus: int | None) -> int:
        """On how many nodes any task could take that many GPUs now (None: whole nodes)."""
        if gpus is None:
            return self.empties
        parts = sum(len(names) for shown, names in self._part.items() if shown >= gpus)
        return parts + (self.empties if gpus <= self.floor.gpus_per_node else 0)

    @property
    def others(self) -> list[Spot]:
        """The nodes that are not `gang_nodes`."""
        if self._others is None:
            self._others = [self.spots[name] for name in sorted(self.floor.nodes.keys() - self.gang_nodes)]
        return self._others

    @property
    def keeps_free(self) -> bool:
        """Whether GPUs that are kept for the head of the queue are free now (B1)."""
        if self._keeps_free is None:
            self._keeps_free = any(self.spots[name].free for name in self._reserved)
        return self._keeps_free

    def open_part(self, gpus: int) -> str | None:
        """The shared node that k GPUs fit best: the fewest left over, then by name (U2, F4)."""
        for shown in sorted(self._part):
            if shown >= gpus and self._part[shown]:
                return self._part[shown][0]
        return None

    def special(self, task: Task, priority: Priority) -> bool:
        """Whether other nodes are open to the task than to everybody of its kind."""
        if task.avoid or (self.floor.mixed and task.gpus is not None):
            return True
        return bool(self._promised) and (bool(task.promise) or self._overrides(priority))

    def alike(self, task: Task) -> bool:
        """Whether what is refused to the task is refused to every task of its priority that is no smaller."""
        return not (task.avoid or task.promise or (self.floor.mixed and task.gpus is not None))

    def _overrides(self, priority: Priority) -> bool:
        if self._lowest is None:
            promises = (promise for name in self._promised for promise in self.spots[name].promises)
            self._lowest = min((promise.priority for promise in promises), default=None)
        return self._lowest is not None and self._lowest < priority

    def now_for(self, task: Task, priority: Priority, *, reserved: bool = False) -> list[str]:
        """Nodes that the task could start on now: its own promises first, then fullest first, then by name."""
        names = [name for shown, part in self._part.items() for name in part if task.gpus and shown >= task.gpus]
        names += [name for part in self.empty.values() for name in part]
        extra = [*self._promised, *(self._reserved if reserved else ())]
        names += [name for name in extra if self.may_have(self.spots[name], task, priority, reserved=reserved)]
        names = [name for name in dict.fromkeys(names) if self.suits(self.spots[name], task)]
        return self._preferred(names, task)

    def soon_for(self, task: Task, priority: Priority) -> list[str]:
        """Nodes that are being freed and may become the task's; those open now are not among them."""
        names = dict.fromkeys((*self._leaving, *self._promised))
        return self._preferred([name for name in names if self._may_become(self.spots[name], task, priority)], task)

    def soon_of(self, names: Iterable[str], task: Task, priority: Priority) -> list[str]:
        """Those of the nodes that are being freed and may become the task's."""
        spots = (self.spots[name] for name in names if name in self.floor.nodes)
        return self._preferred([spot.node.name for spot in spots if self._may_become(spot, task, priority)], task)

    def now_of(self, names: Iterable[str], task: Task, priority: Priority, *, reserved: bool = False) -> list[str]:
        """Those of the nodes that the task could start on now."""
        spots = (self.spots[name] for name in names if name in self.floor.nodes)
        suiting = [spot for spot in spots if self.suits(spot, task)]
        own = [spot.node.name for spot in suiting if self.may_have(spot, task, priority, reserved=reserved)]
        return self._preferred(own, task)

    def _may_become(self, spot: Spot, task: Task, priority: Priority) -> bool:
        if spot.reserved or not self.suits(spot, task):
            return False
        have = len(spot.free) - self.kept_from(spot, task, priority)
        want = spot.amount(task)
        return have < want <= have + spot.leaving()

    def _preferred(self, names: Iterable[str], task: Task) -> list[str]:
        return sorted(names, key=lambda name: self._preference(self.spots[name], task))

    def count_soon(self, gpus: int | None) -> int:
        """On how many nodes any task could take that many GPUs when those who are leaving have left."""
        known = self._soon.get(gpus)
        if known is None or known[0] < len(self.changed):
            known = self._soon[gpus] = len(self.changed), self._count_soon(gpus)
        return known[1]

    def _count_soon(self, gpus: int | None) -> int:
        count = 0
        for name in self._leaving:
            spot = self.spots[name]
            if spot.reserved or not spot.usable:
                continue
            want = spot.size if gpus is None else gpus
            count += spot.shown < want <= len(spot.free) + spot.leaving() - spot.kept()
        return count

    def suits(self, spot: Spot, task: Task) -> bool:
        """Whether the task may ever be placed there as things are (F3)."""
        if not spot.usable or spot.node.name in task.avoid:
            return False
        return task.gpus is None or task.gpus <= spot.node.gpus

    def may_have(self, spot: Spot, task: Task, priority: Priority, *, reserved: bool) -> bool:
        """Whether enough free GPUs of the node are its own promise, or nobody's that it must respect (B1, B3, P5)."""
        if spot.reserved and not reserved:
            return False
        have, want = len(spot.free), spot.amount(task)
        return have >= want and have - self.kept_from(spot, task, priority) >= want

    def kept_from(self, spot: Spot, task: Task, priority: Priority) -> int:
        """GPUs of the node that are promised to others whom the task must respect."""
        if not spot.promises:
            return 0
        others = [promise for promise in spot.promises if promise.task_id != task.id]
        return sum([p.gpus for p in others if p.priority >= priority or p.task_id == task.left_for])

    def without_others(self, names: Iterable[str], task: Task) -> list[str]:
        """Those of the nodes that the task can have without any other's promise giving way."""
        return [name for name in names if self._room_beside_promises(self.spots[name], task)]

    def _room_beside_promises(self, spot: Spot, task: Task) -> bool:
        if not spot.promises:
            return True
        others = sum(promise.gpus for promise in spot.promises if promise.task_id != task.id)
        return len(spot.free) + spot.leaving() - others >= spot.amount(task)

    def _preference(self, spot: Spot, task: Task) -> tuple[bool, int, str]:
        own = any(promise.task_id == task.id for promise in spot.promises) or spot.node.name in task.promise
        return not own, spot.shown, spot.node.name

    def by_leaf(self, names: Iterable[str]) -> dict[Leaf, list[str]]:
        """The names by leaf, order kept."""
        found: defaultdict[Leaf, list[str]] = defaultdict(list)
        for name in names:
            found[self.spots[name].leaf].append(name)
        return found

    # -- changes ----------------------------------------------------------------------------------

    def promise(self, names: Collection[str], task: Task, priority: Priority) -> set[TaskId]:
        """Keep room on the nodes for a task; whose promises, being lower, had to give way there."""
        gave_way: set[TaskId] = set()
        for name in names:
            spot = self.spots[name]
            want = spot.amount(task)
            spot.promises = [promise for promise in spot.promises if promise.task_id != task.id]
            have = len(spot.free) + spot.leaving()
            for other in sorted(spot.promises, key=attrgetter("priority")):
                if have - spot.kept() >= want or other.priority >= priority:
                    break
                self._withdraw(other, spot)
                gave_way.add(other.task_id)
            spot.promises.append(Promise(task.id, priority, want))
            self._promised[name] = None
            self._of_task[task.id].add(name)
            if name in self.gang_nodes:
                self.gang_nodes.discard(name)
                self._others = None
            self._file(spot)
        if self.floor.spans_zones(names):
            self._to_cross[task.id] = priority
        return gave_way

    def release(self, task: Task) -> None:
        """The task's promises are no more."""
        self._to_cross.pop(task.id, None)
        for name in self.promised_to(task):
            spot = self.spots[name]
            spot.promises = [promise for promise in spot.promises if promise.task_id != task.id]
            self._settle(spot)
        self._of_task.pop(task.id, None)

    def _withdraw(self, promise: Promise, spot: Spot) -> None:
        spot.promises.remove(promise)
        self._of_task[promise.task_id].discard(spot.node.name)

    def promised_to(self, task: Task) -> list[str]:
        """Nodes kept for the task, by name."""
        return sorted(self._of_task.get(task.id, ()))

    def take(self, names: Iterable[str], turn: Turn) -> tuple[tuple[tuple[int, ...], ...], set[TaskId]]:
        """The nodes are a starting run's now.

        Returns the GPU indices by rank, empty for whole nodes (U2), and whose promises had to give way there.
        """
        indices: list[tuple[int, ...]] = []
        gave_way: set[TaskId] = set()
        for name in names:
            spot = self.spots[name]
            want = spot.amount(turn.task)
            if turn.task.gpus is not None:
                indices.append(tuple(spot.free[:want]))
            spot.free = spot.free[want:]
            spot.turns.append(turn)
            gave_way |= self._yield_promises(spot)
            self._settle(spot)
        self.started.append(turn)
        self._keeps_free = None
        if turn.crosses:
            self.crossers.append(turn)
        return tuple(indices), gave_way

    def _yield_promises(self, spot: Spot) -> set[TaskId]:
        """Drop promises that have no room any more, lowest first; whose they were."""
        gave_way: set[TaskId] = set()
        have = len(spot.free) + spot.leaving()
        for promise in sorted(spot.promises, key=attrgetter("priority")):
            if spot.kept() <= have:
                break
            self._withdraw(promise, spot)
            gave_way.add(promise.task_id)
        return gave_way

    def _settle(self, spot: Spot) -> None:
        if not spot.promises:
            self._promised.pop(spot.node.name, None)
        self._file(spot)

    def leave(self, turn: Turn) -> None:
        """The run has been told to leave."""
        turn.leaving = True
        for name in turn.nodes:
            if name in self.floor.nodes:
                self._leaving[name] = None
                self.changed.append(name)

    def promised_there(self, name: str, task_id: TaskId | None) -> bool:
        """Whether something of the node is promised to the task."""
        return task_id is not None and any(promise.task_id == task_id for promise in self.spots[name].promises)

    def has_left(self, name: str) -> bool:
        """Whether something of the node that is free, or being freed, is promised to nobody."""
        spot = self.spots.find(name)
        return spot is not None and len(spot.free) + spot.leaving() > spot.kept()

    def reserve(self, names: Iterable[str]) -> None:
        """Keep the nodes for the head of the queue (B1), instead of those that were kept before."""
        before, self._reserved = self._reserved, dict.fromkeys(names)
        self._keeps_free = None
        for name in (*before, *self._reserved):
            self.spots[name].reserved = name in self._reserved
            self._file(self.spots[name])
