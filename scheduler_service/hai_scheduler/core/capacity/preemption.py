"""Preemption: which turns end for which waiting task (rules P1 to P5).

A *candidate* is a set of turns that may end, and the nodes that this frees: one gang with its nodes, or those tasks of
a shared node that together free enough of it. Candidates for tasks of one kind are kept sorted by harm, since many
waiting tasks of a plan need them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from hai_scheduler.core.capacity.group_capacity import GroupCapacity
from hai_scheduler.core.capacity.node_states import NodeState, held_by
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.rules import Harm, Rules
from hai_scheduler.core.ordering.turns import Turn


@dataclass(frozen=True, slots=True)
class RequestClass:
    """What the candidates for a task depend on: which turns may end for it, and how much of a node it takes."""

    priority: Priority
    precedence: float
    #: None is whole nodes.
    gpus: int | None
    #: Leave equal tasks of this user out of the candidates (P3); None: leave none out.
    besides: str | None = None


class CandidateKey(NamedTuple):
    """The sort key of a candidate: least harm first (P4). Keys of one kind differ: each node is in one candidate."""

    #: The fields of the largest `Harm` among the turns; they are copied here, so that comparing is fast.
    order: tuple[float, ...]
    started: float
    task_id: TaskId
    #: The first node of the candidate.
    node: str

    @property
    def harm(self) -> Harm:
        """The largest harm among the turns."""
        return Harm(*self[:3])


@dataclass(slots=True, eq=False)
class Candidate:
    """Turns that may end together, and the nodes that this would free."""

    turns: tuple[Turn, ...]
    nodes: tuple[str, ...]
    key: CandidateKey
    #: Users of turns that do not end for tasks of their own user (P3): their tasks cannot use the candidate.
    users: frozenset[str]

    def __lt__(self, other: Candidate) -> bool:
        return self.key < other.key


@dataclass(slots=True)
class Candidates:
    """All candidates for tasks of one kind, and how many nodes they would free."""

    kind: RequestClass
    sorted: list[Candidate] = field(default_factory=list)
    total: int = 0
    #: By user, how many nodes are in candidates that the user's tasks cannot use, because own tasks would leave (P3).
    own: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_node: dict[str, Candidate] = field(default_factory=dict)
    seen: int = 0

    def add(self, candidate: Candidate) -> None:
        """Add a candidate."""
        for name in candidate.nodes:
            self.by_node[name] = candidate
        insort(self.sorted, candidate)
        self._count(candidate, len(candidate.nodes))

    def fill(self, candidates: Iterable[Candidate]) -> None:
        """Add many candidates at once."""
        for candidate in candidates:
            for name in candidate.nodes:
                self.by_node[name] = candidate
            self.sorted.append(candidate)
            self._count(candidate, len(candidate.nodes))
        self.sorted.sort()

    def drop(self, name: str) -> None:
        """Remove the candidate that would free the node, if there is one."""
        candidate = self.by_node.get(name)
        if candidate is None:
            return
        for freed in candidate.nodes:
            del self.by_node[freed]
        del self.sorted[bisect_left(self.sorted, candidate)]
        self._count(candidate, -len(candidate.nodes))

    def _count(self, candidate: Candidate, nodes: int) -> None:
        self.total += nodes
        for user in candidate.users:
            self.own[user] += nodes


class CandidateIndex:
    """All candidates of a node group by kind of request; those of a kind are built when they are first needed."""

    def __init__(self, capacity: GroupCapacity, turns: Sequence[Turn], rules: Rules) -> None:
        self._capacity = capacity
        self._at: defaultdict[Priority, list[Turn]] = defaultdict(list)
        for turn in turns:
            self._at[turn.priority].append(turn)
        self._rules = rules
        self._by_kind: dict[RequestClass, Candidates] = {}
        #: The turns that may end for each kind, whatever number of GPUs the kind has.
        self._able: dict[RequestClass, list[Turn]] = {}
        #: Users with shared-node tasks, and the priorities of these tasks.
        self._sharers = {(turn.task.user, turn.priority) for turn in turns if not turn.whole}
        #: How many turns and nodes were examined.
        self.work = 0

    def forget(self) -> None:
        """Drop all candidates, because nodes have been reserved or released; they are built again when needed."""
        self._by_kind.clear()

    def candidates(self, kind: RequestClass) -> Candidates:
        """Return the current candidates for tasks of the kind."""
        found = self._by_kind.get(kind)
        if found is None:
            found = self._by_kind[kind] = self._all(kind)
        elif found.seen < len(self._capacity.changed):
            self._refresh(found)
        return found

    def candidates_for(self, user: str, kind: RequestClass, need: int) -> Candidates:
        """Return the current candidates for a user's task of the kind that needs `need` nodes.

        On a shared node the candidate with least harm may have the user's own equal tasks, which do not leave for the
        user (P3). If too few nodes are left because of that, candidates without these tasks are returned.
        """
        candidates = self.candidates(kind)
        own = candidates.own.get(user, 0)
        if own and candidates.total - own < need and (user, kind.priority) in self._sharers:
            return self.candidates(replace(kind, besides=user))
        return candidates

    def _all(self, kind: RequestClass) -> Candidates:
        candidates = Candidates(kind, seen=len(self._capacity.changed))
        shared: defaultdict[str, list[Turn]] = defaultdict(list)
        found: list[Candidate | None] = []
        for turn in self._able_for(replace(kind, gpus=None)):
            if turn.leaving:
                continue
            if turn.task.gpus is None:
                found.append(self._of_gang(turn, kind))
                continue
            for name in turn.nodes:
                shared[name].append(turn)
        found += [
            self._of_node(node_state, kind, able)
            for name, able in shared.items()
            if (node_state := self._capacity.node_states.find(name)) is not None
        ]
        self.work += len(shared)
        candidates.fill(candidate for candidate in found if candidate is not None)
        return candidates

    def _able_for(self, kind: RequestClass) -> list[Turn]:
        able = self._able.get(kind)
        if able is None:
            asked = [turn for level, turns in self._at.items() if level <= kind.priority for turn in turns]
            self.work += len(asked)
            able = self._able[kind] = [turn for turn in asked if self._may_end(turn, kind)]
        return able

    def _may_end(self, turn: Turn, kind: RequestClass) -> bool:
        if turn.leaving or turn.priority > kind.priority:
            return False
        if turn.task.user == kind.besides and self._spared(turn, kind):
            return False
        return self._rules.may_end(turn, kind.priority, kind.precedence)

    def _spared(self, turn: Turn, kind: RequestClass) -> bool:
        """Whether the turn ends for no task of its own user (P3); one with idle GPUs does (I1)."""
        return turn.priority == kind.priority and not turn.idle(self._rules.now)

    def _refresh(self, candidates: Candidates) -> None:
        """Build the candidates of changed nodes again."""
        names = dict.fromkeys(self._capacity.changed[candidates.seen :])
        candidates.seen = len(self._capacity.changed)
        gangs: dict[int, Turn] = {}
        for name in names:
            self.work += 1
            candidates.drop(name)
            node_state = self._capacity.node_states[name]
            able = [turn for turn in node_state.turns if self._may_end(turn, candidates.kind)]
            self.work += len(node_state.turns)
            if able and able[0].whole:
                gangs[able[0].task.id] = able[0]
            elif able and (new := self._of_node(node_state, candidates.kind, able)) is not None:
                candidates.add(new)
        for gang in gangs.values():
            if (new := self._of_gang(gang, candidates.kind)) is not None:
                candidates.add(new)

    def _of_gang(self, turn: Turn, kind: RequestClass) -> Candidate | None:
        nodes = tuple([name for name in turn.nodes if self._of_use(name, kind)])
        return self._candidate((turn,), nodes, kind) if nodes else None

    def _candidate(self, turns: tuple[Turn, ...], nodes: tuple[str, ...], kind: RequestClass) -> Candidate:
        own = frozenset(turn.task.user for turn in turns if self._spared(turn, kind))
        worst = max([self._rules.harm_of(turn) for turn in turns])
        key = tuple.__new__(
            CandidateKey, (*worst, nodes[0])
        )  # thousands in a plan, and faster than `CandidateKey(...)`
        return Candidate(turns, nodes, key, own)

    def _of_use(self, name: str, kind: RequestClass) -> bool:
        node_state = self._capacity.node_states.find(name)
        return (
            node_state is not None
            and not node_state.reserved
            and node_state.usable
            and node_state.node.holds(kind.gpus)
        )

    def _of_node(self, node_state: NodeState, kind: RequestClass, able: list[Turn]) -> Candidate | None:
        """Return the candidate of a shared node: the tasks with least harm that free enough of it, or None."""
        want = node_state.size if kind.gpus is None else kind.gpus
        have = len(node_state.free) + node_state.leaving() - node_state.kept(kind.priority)  # lower promises give way
        if have >= want or not self._of_use(node_state.node.name, kind):
            return None
        able.sort(key=self._rules.harm_of)
        chosen = _fewest_needed(able, want - have, lambda turn: held_by(turn, node_state))
        if chosen is None:
            return None
        return self._candidate(chosen, (node_state.node.name,), kind)


def _fewest_needed(turns: Sequence[Turn], need: int, gain: Callable[[Turn], int]) -> tuple[Turn, ...] | None:
    """Take turns in order until the need is met; then drop turns that are not needed, most harm first (P4).

    Returns None if all turns together do not meet the need.
    """
    chosen: list[Turn] = []
    got = 0
    for turn in turns:
        if got >= need:
            break
        chosen.append(turn)
        got += gain(turn)
    if got < need:
        return None
    for turn in reversed(chosen.copy()):
        if got - gain(turn) >= need:
            chosen.remove(turn)
            got -= gain(turn)
    return tuple(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a waiting task needs from the candidates."""

    task: Task
    #: How many nodes are to be freed.
    need: int
    #: Nodes that do not count, because the task can have them without these candidates.
    without: Collection[str] = ()
    #: Only nodes of this zone (F2); None is any.
    zone: str | None = None


class TakenCandidate(NamedTuple):
    """A candidate that is chosen for a task, and the nodes of the candidate that the task can use."""

    candidate: Candidate
    nodes: tuple[str, ...]


class VictimSelector:
    """Chooses the victims for a task (P4)."""

    def __init__(self, capacity: GroupCapacity, rules: Rules) -> None:
        self._capacity = capacity
        self._rules = rules
        self.work = 0

    def victims(self, candidates: Candidates, task: Task, have: Sequence[str]) -> list[Turn] | None:
        """Choose the turns that end so that the gang fits, within one zone if possible, else across zones (F1, F2).

        Args:
            candidates: The candidates for tasks of the kind.
            task: The waiting task.
            have: The nodes that the task can have without a preemption.

        Returns:
            The victims, or None if the gang would not fit even if all turns that may end did.
        """
        found = self._found(candidates, task, have)
        if found is None:
            return None
        turns = list({turn.task.id: turn for candidate in found for turn in candidate.turns}.values())
        if any(len(turn.nodes) > 1 and not turn.whole for turn in turns):
            self._let_off(turns, candidates.kind.priority, task, have)
        return turns

    def _let_off(self, turns: list[Turn], priority: Priority, task: Task, have: Sequence[str]) -> None:
        """Drop victims that are not needed, most harm first: a task on many shared nodes is in many candidates."""
        fit = self._fit(turns, priority, task, have)
        for turn in sorted(turns, key=self._rules.harm_of, reverse=True):
            others = [other for other in turns if other is not turn]
            if self._fit(others, priority, task, have) == fit:
                turns.remove(turn)

    def _fit(self, turns: Sequence[Turn], priority: Priority, task: Task, have: Sequence[str]) -> int:
        """Return how the gang fits once these turns have ended: 0 in one zone, 1 across zones, 2 not at all."""
        capacity = self._capacity
        names = dict.fromkeys(have)
        for name in (name for turn in turns for name in turn.nodes):
            node_state = capacity.node_states.find(name)
            if node_state is not None and not node_state.reserved and node_state.suits(task):
                left = sum(held_by(turn, node_state) for turn in turns if turn in node_state.turns and not turn.leaving)
                if len(node_state.free) + node_state.leaving() + left - node_state.kept_from(
                    task, priority
                ) >= node_state.amount(task):
                    names[name] = None
        zones = Counter(capacity.node_group.zone_of[name] for name in names)
        if max(zones.values(), default=0) >= task.nodes:
            return 0
        crossing = capacity.crossing(task, priority, soon=True) - sum(
            turn in turns for turn in capacity.cross_zone_turns
        )
        return 1 if len(names) >= task.nodes and crossing < self._rules.policy.max_cross_zone else 2

    def _found(self, candidates: Candidates, task: Task, have: Sequence[str]) -> list[Candidate] | None:
        zones = self._capacity.node_group.zones
        if len(zones) == 1:
            return self._candidates(candidates, Demand(task=task, need=task.nodes - len(have), without=have))
        options = []
        for zone in zones:
            here = sum(self._capacity.node_group.zone_of[name] == zone for name in have)
            found = self._candidates(candidates, Demand(task=task, need=task.nodes - here, without=have, zone=zone))
            if found is not None:
                options.append(([candidate.key.harm for candidate in reversed(found)], zone, found))
        if options:
            return min(options, key=lambda option: option[:2])[2]
        return self._victims_across(candidates, task, have)

    def _victims_across(self, candidates: Candidates, task: Task, have: Sequence[str]) -> list[Candidate] | None:
        """Choose candidates across zones; runs that span zones end first, if too many do for one more (F2)."""
        policy = self._rules.policy
        too_many = self._capacity.crossing(task, candidates.kind.priority, soon=True) + 1 - policy.max_cross_zone
        first = self._crossers(candidates.kind, task, max(0, too_many))
        if first is None:
            return None
        have = [*have, *(name for candidate in first for name in candidate.nodes)]
        found = self._candidates(candidates, Demand(task=task, need=task.nodes - len(have), without=have))
        return None if found is None else [*first, *found]

    def _crossers(self, kind: RequestClass, task: Task, count: int) -> list[Candidate] | None:
        """Return candidates of `count` runs that span zones, least harm first, with the nodes that the task can use.

        Returns None if fewer such runs may be told to leave for the task.
        """
        able = [
            turn
            for turn in self._capacity.cross_zone_turns
            if not turn.leaving
            and self._rules.may_end(turn, kind.priority, kind.precedence)
            and not (turn.task.user == task.user and turn.priority == kind.priority)  # P3
            and not self._just_made_room(turn, task)
        ]
        if len(able) < count:
            return None
        able.sort(key=self._rules.harm_of)
        return [self._whole(turn, task) for turn in able[:count]]

    def _whole(self, turn: Turn, task: Task) -> Candidate:
        node_states = [
            self._capacity.node_states[name] for name in turn.nodes if name in self._capacity.node_group.nodes
        ]
        usable = [
            node_state.name
            for node_state in node_states
            if turn.whole and not node_state.reserved and node_state.suits(task)
        ]
        return Candidate((turn,), tuple(usable), CandidateKey(*self._rules.harm_of(turn), turn.nodes[0]), frozenset())

    def _candidates(self, candidates: Candidates, demand: Demand) -> list[Candidate] | None:
        if demand.need <= 0:
            return []
        found = self.choose(candidates, demand)
        return None if found is None else [taken.candidate for taken in found]

    def choose(self, candidates: Candidates, demand: Demand) -> list[TakenCandidate] | None:
        """Return the candidates that free at least `demand.need` nodes with least harm; None: there are too few."""
        chosen: list[TakenCandidate] = []
        got = 0
        for taken in self._in_order(candidates, demand):
            chosen.append(taken)
            got += len(taken.nodes)
            if got >= demand.need:
                break
        if got < demand.need:
            return None
        for taken in reversed(chosen.copy()):
            if got - len(taken.nodes) >= demand.need:
                chosen.remove(taken)
                got -= len(taken.nodes)
        return chosen

    def _in_order(self, candidates: Candidates, demand: Demand) -> Iterator[TakenCandidate]:
        """Yield the candidates that the task can use, least harm first; ties by the fewest nodes beyond the need."""
        for _, tied in groupby(candidates.sorted, key=lambda candidate: candidate.key.order):
            usable = []
            for candidate in tied:
                self.work += 1
                if nodes := self._freed(candidate, demand):
                    usable.append(TakenCandidate(candidate, nodes))
            if len(usable) > 1:
                usable.sort(
                    key=lambda taken: (max(0, len(taken.candidate.turns[0].nodes) - demand.need), taken.candidate.key)
                )
            yield from usable

    def _freed(self, candidate: Candidate, demand: Demand) -> tuple[str, ...]:
        if demand.task.user in candidate.users or any(
            self._just_made_room(turn, demand.task) for turn in candidate.turns
        ):
            return ()
        if not (demand.without or demand.zone is not None or demand.task.avoid or demand.task.left_for):
            return candidate.nodes
        return tuple(
            name
            for name in candidate.nodes
            if name not in demand.without
            and name not in demand.task.avoid
            and demand.zone in (None, self._capacity.node_group.zone_of[name])
            and not self._capacity.promised.is_to(name, demand.task.left_for)  # P5
        )

    def _just_made_room(self, turn: Turn, waiting: Task) -> bool:
        """Whether the waiting task is a victim of the turn, which has lasted less than `min_run` (P5).

        Without this rule a victim could take the nodes back at once: an AUTO task may wait at a higher priority than
        it ran at.
        """
        until = turn.run.turn_start + self._rules.policy.min_run
        return waiting.left_for == turn.task.id and self._rules.now < until


def reason_for(turn: Turn, kind: RequestClass, rules: Rules) -> Reason:
    """Return why a chosen turn ends."""
    reason = rules.reason(turn, kind.priority, kind.precedence)
    assert reason is not None, f"task {turn.task.id} may not be told to leave"
    return reason
