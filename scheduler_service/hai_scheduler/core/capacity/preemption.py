"""Preemption: which turns end for which waiting task (rules P1 to P5).

An *offer* is a set of turns that may end, and the nodes that this frees: one gang with its nodes, or those tasks of a
shared node that together free enough of it. Offers to tasks of one kind are kept sorted by harm, since many waiting
tasks of a plan need them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from hai_scheduler.core.capacity.ledger import Ledger
from hai_scheduler.core.capacity.spots import Spot, held_by
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.rules import Harm, Rules
from hai_scheduler.core.ordering.turns import Turn


@dataclass(frozen=True, slots=True)
class Kind:
    """What the offers to a task depend on: which turns may end for it, and how much of a node it takes."""

    priority: Priority
    rank: float
    #: None is whole nodes.
    gpus: int | None
    #: Leave equal tasks of this user out of the offers (P3); None: leave none out.
    besides: str | None = None


class OfferKey(NamedTuple):
    """The sort key of an offer: least harm first (P4). Keys of one kind differ, because each node is in one offer."""

    #: The fields of the largest `Harm` among the turns; they are copied here, so that comparing is fast.
    order: tuple[float, ...]
    started: float
    task_id: TaskId
    #: The first node of the offer.
    node: str

    @property
    def harm(self) -> Harm:
        """The largest harm among the turns."""
        return Harm(*self[:3])


@dataclass(slots=True, eq=False)
class Offer:
    """Turns that may end together, and the nodes that this would free."""

    turns: tuple[Turn, ...]
    nodes: tuple[str, ...]
    key: OfferKey
    #: Users of turns with the priority of the waiting task: their own tasks cannot use the offer (P3).
    users: frozenset[str]

    def __lt__(self, other: Offer) -> bool:
        return self.key < other.key


@dataclass(slots=True)
class Offers:
    """All offers to tasks of one kind, and how many nodes they would free."""

    kind: Kind
    sorted: list[Offer] = field(default_factory=list)
    total: int = 0
    #: By user, how many nodes are in offers that the user's tasks cannot use, because own tasks would leave (P3).
    own: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_node: dict[str, Offer] = field(default_factory=dict)
    seen: int = 0

    def add(self, offer: Offer) -> None:
        """Add an offer."""
        for name in offer.nodes:
            self.by_node[name] = offer
        insort(self.sorted, offer)
        self._count(offer, len(offer.nodes))

    def fill(self, offers: Iterable[Offer]) -> None:
        """Add many offers at once."""
        for offer in offers:
            for name in offer.nodes:
                self.by_node[name] = offer
            self.sorted.append(offer)
            self._count(offer, len(offer.nodes))
        self.sorted.sort()

    def drop(self, name: str) -> None:
        """Remove the offer that would free the node, if there is one."""
        offer = self.by_node.get(name)
        if offer is None:
            return
        for freed in offer.nodes:
            del self.by_node[freed]
        del self.sorted[bisect_left(self.sorted, offer)]
        self._count(offer, -len(offer.nodes))

    def _count(self, offer: Offer, nodes: int) -> None:
        self.total += nodes
        for user in offer.users:
            self.own[user] += nodes


class Market:
    """All offers of a node group by kind of request; those of a kind are built when they are first needed."""

    def __init__(self, ledger: Ledger, turns: Sequence[Turn], rules: Rules) -> None:
        self._ledger = ledger
        self._at: defaultdict[Priority, list[Turn]] = defaultdict(list)
        for turn in turns:
            self._at[turn.priority].append(turn)
        self._rules = rules
        self._by_kind: dict[Kind, Offers] = {}
        #: The turns that may end for each kind, whatever number of GPUs the kind has.
        self._able: dict[Kind, list[Turn]] = {}
        #: Users with shared-node tasks, and the priorities of these tasks.
        self._sharers = {(turn.task.user, turn.priority) for turn in turns if not turn.whole}
        #: How many turns and nodes were examined.
        self.work = 0

    def forget(self) -> None:
        """Drop all offers, because nodes have been reserved or released; they are built again when needed."""
        self._by_kind.clear()

    def offers(self, kind: Kind) -> Offers:
        """Return the current offers to tasks of the kind."""
        found = self._by_kind.get(kind)
        if found is None:
            found = self._by_kind[kind] = self._all(kind)
        elif found.seen < len(self._ledger.changed):
            self._refresh(found)
        return found

    def offers_to(self, user: str, kind: Kind, need: int) -> Offers:
        """Return the current offers to a user's task of the kind that needs `need` nodes.

        On a shared node the offer with least harm may include the user's own equal tasks, which do not leave for the
        user (P3). If too few nodes are left because of that, offers without these tasks are returned.
        """
        offers = self.offers(kind)
        own = offers.own.get(user, 0)
        if own and offers.total - own < need and (user, kind.priority) in self._sharers:
            return self.offers(replace(kind, besides=user))
        return offers

    def _all(self, kind: Kind) -> Offers:
        offers = Offers(kind, seen=len(self._ledger.changed))
        shared: defaultdict[str, list[Turn]] = defaultdict(list)
        found: list[Offer | None] = []
        for turn in self._able_for(replace(kind, gpus=None)):
            if turn.leaving:
                continue
            if turn.task.gpus is None:
                found.append(self._of_gang(turn, kind))
                continue
            for name in turn.nodes:
                shared[name].append(turn)
        found += [
            self._of_node(spot, kind, able)
            for name, able in shared.items()
            if (spot := self._ledger.spots.find(name)) is not None
        ]
        self.work += len(shared)
        offers.fill(offer for offer in found if offer is not None)
        return offers

    def _able_for(self, kind: Kind) -> list[Turn]:
        able = self._able.get(kind)
        if able is None:
            asked = [turn for level, turns in self._at.items() if level <= kind.priority for turn in turns]
            self.work += len(asked)
            able = self._able[kind] = [turn for turn in asked if self._may_end(turn, kind)]
        return able

    def _may_end(self, turn: Turn, kind: Kind) -> bool:
        if turn.leaving or turn.priority > kind.priority:
            return False
        if turn.task.user == kind.besides and turn.priority == kind.priority:
            return False
        return self._rules.may_end(turn, kind.priority, kind.rank)

    def _refresh(self, offers: Offers) -> None:
        """Build the offers of changed nodes again."""
        names = dict.fromkeys(self._ledger.changed[offers.seen :])
        offers.seen = len(self._ledger.changed)
        gangs: dict[int, Turn] = {}
        for name in names:
            self.work += 1
            offers.drop(name)
            spot = self._ledger.spots[name]
            able = [turn for turn in spot.turns if self._may_end(turn, offers.kind)]
            self.work += len(spot.turns)
            if able and able[0].whole:
                gangs[able[0].task.id] = able[0]
            elif able and (new := self._of_node(spot, offers.kind, able)) is not None:
                offers.add(new)
        for gang in gangs.values():
            if (new := self._of_gang(gang, offers.kind)) is not None:
                offers.add(new)

    def _of_gang(self, turn: Turn, kind: Kind) -> Offer | None:
        nodes = tuple([name for name in turn.nodes if self._of_use(name, kind)])
        return self._offer((turn,), nodes, kind) if nodes else None

    def _offer(self, turns: tuple[Turn, ...], nodes: tuple[str, ...], kind: Kind) -> Offer:
        own = frozenset(turn.task.user for turn in turns if turn.priority == kind.priority)
        worst = max([self._rules.harm_of(turn) for turn in turns])
        key = tuple.__new__(OfferKey, (*worst, nodes[0]))  # thousands in a plan, and faster than `OfferKey(...)`
        return Offer(turns, nodes, key, own)

    def _of_use(self, name: str, kind: Kind) -> bool:
        spot = self._ledger.spots.find(name)
        return (
            spot is not None
            and not spot.reserved
            and spot.usable
            and (kind.gpus is None or kind.gpus <= spot.node.gpus)
        )

    def _of_node(self, spot: Spot, kind: Kind, able: list[Turn]) -> Offer | None:
        """Return the offer of a shared node: the tasks with least harm that free enough of it, or None."""
        want = spot.size if kind.gpus is None else kind.gpus
        have = len(spot.free) + spot.leaving() - spot.kept(kind.priority)  # lower promises give way
        if have >= want or not self._of_use(spot.node.name, kind):
            return None
        able.sort(key=self._rules.harm_of)
        chosen = _fewest_needed(able, want - have, lambda turn: held_by(turn, spot))
        if chosen is None:
            return None
        return self._offer(chosen, (spot.node.name,), kind)


def _fewest_needed(turns: Sequence[Turn], need: int, worth: Callable[[Turn], int]) -> tuple[Turn, ...] | None:
    """Take turns in order until the need is met; then drop turns that are not needed, most harm first (P4).

    Returns None if all turns together do not meet the need.
    """
    chosen: list[Turn] = []
    got = 0
    for turn in turns:
        if got >= need:
            break
        chosen.append(turn)
        got += worth(turn)
    if got < need:
        return None
    for turn in reversed(chosen.copy()):
        if got - worth(turn) >= need:
            chosen.remove(turn)
            got -= worth(turn)
    return tuple(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a waiting task needs from the offers."""

    task: Task
    #: How many nodes are to be freed.
    need: int
    #: Nodes that do not count, because the task can have them without these offers.
    without: Collection[str] = ()
    #: Only nodes of this zone (F2); None is any.
    zone: str | None = None


class Taken(NamedTuple):
    """An offer that is chosen for a task, and the nodes of the offer that the task can use."""

    offer: Offer
    nodes: tuple[str, ...]


class Chooser:
    """Chooses the victims for a task (P4)."""

    def __init__(self, ledger: Ledger, rules: Rules) -> None:
        self._ledger = ledger
        self._rules = rules
        self.work = 0

    def victims(self, offers: Offers, task: Task, have: Sequence[str]) -> list[Turn] | None:
        """Choose the turns that end so that the gang fits, within one zone if possible, else across zones (F1, F2).

        Args:
            offers: The offers to tasks of the kind.
            task: The waiting task.
            have: The nodes that the task can have without a preemption.

        Returns:
            The victims, or None if the gang would not fit even if all turns that may end did.
        """
        found = self._found(offers, task, have)
        if found is None:
            return None
        turns = list({turn.task.id: turn for offer in found for turn in offer.turns}.values())
        if any(len(turn.nodes) > 1 and not turn.whole for turn in turns):
            self._let_off(turns, offers.kind.priority, task, have)
        return turns

    def _let_off(self, turns: list[Turn], priority: Priority, task: Task, have: Sequence[str]) -> None:
        """Drop victims that are not needed, most harm first: a task on several shared nodes is in an offer of each."""
        fit = self._fit(turns, priority, task, have)
        for turn in sorted(turns, key=self._rules.harm_of, reverse=True):
            others = [other for other in turns if other is not turn]
            if self._fit(others, priority, task, have) == fit:
                turns.remove(turn)

    def _fit(self, turns: Sequence[Turn], priority: Priority, task: Task, have: Sequence[str]) -> int:
        """Return how the gang fits once these turns have ended: 0 in one zone, 1 across zones, 2 not at all."""
        ledger = self._ledger
        names = dict.fromkeys(have)
        for name in (name for turn in turns for name in turn.nodes):
            spot = ledger.spots.find(name)
            if spot is not None and not spot.reserved and spot.suits(task):
                left = sum(held_by(turn, spot) for turn in turns if turn in spot.turns and not turn.leaving)
                if len(spot.free) + spot.leaving() + left - spot.kept_from(task, priority) >= spot.amount(task):
                    names[name] = None
        zones = Counter(ledger.floor.zone_of[name] for name in names)
        if max(zones.values(), default=0) >= task.nodes:
            return 0
        crossing = ledger.crossing(task, priority, soon=True) - sum(turn in turns for turn in ledger.crossers)
        return 1 if len(names) >= task.nodes and crossing < self._rules.policy.max_cross_zone else 2

    def _found(self, offers: Offers, task: Task, have: Sequence[str]) -> list[Offer] | None:
        zones = self._ledger.floor.zones
        if len(zones) == 1:
            return self._offers(offers, Ask(task=task, need=task.nodes - len(have), without=have))
        options = []
        for zone in zones:
            here = sum(self._ledger.floor.zone_of[name] == zone for name in have)
            found = self._offers(offers, Ask(task=task, need=task.nodes - here, without=have, zone=zone))
            if found is not None:
                options.append(([offer.key.harm for offer in reversed(found)], zone, found))
        if options:
            return min(options, key=lambda option: option[:2])[2]
        return self._victims_across(offers, task, have)

    def _victims_across(self, offers: Offers, task: Task, have: Sequence[str]) -> list[Offer] | None:
        """Choose offers across zones; runs that span zones end first, if too many do for one more (F2)."""
        policy = self._rules.policy
        too_many = self._ledger.crossing(task, offers.kind.priority, soon=True) + 1 - policy.max_cross_zone
        first = self._crossers(offers.kind, task, max(0, too_many))
        if first is None:
            return None
        have = [*have, *(name for offer in first for name in offer.nodes)]
        found = self._offers(offers, Ask(task=task, need=task.nodes - len(have), without=have))
        return None if found is None else [*first, *found]

    def _crossers(self, kind: Kind, task: Task, count: int) -> list[Offer] | None:
        """Return offers of `count` runs that span zones, least harm first, with the nodes that the task can use.

        Returns None if fewer such runs may be told to leave for the task.
        """
        able = [
            turn
            for turn in self._ledger.crossers
            if not turn.leaving
            and self._rules.may_end(turn, kind.priority, kind.rank)
            and not (turn.task.user == task.user and turn.priority == kind.priority)  # P3
            and not self._just_made_room(turn, task)
        ]
        if len(able) < count:
            return None
        able.sort(key=self._rules.harm_of)
        return [self._whole(turn, task) for turn in able[:count]]

    def _whole(self, turn: Turn, task: Task) -> Offer:
        spots = [self._ledger.spots[name] for name in turn.nodes if name in self._ledger.floor.nodes]
        usable = [spot.name for spot in spots if turn.whole and not spot.reserved and spot.suits(task)]
        return Offer((turn,), tuple(usable), OfferKey(*self._rules.harm_of(turn), turn.nodes[0]), frozenset())

    def _offers(self, offers: Offers, ask: Ask) -> list[Offer] | None:
        if ask.need <= 0:
            return []
        found = self.choose(offers, ask)
        return None if found is None else [taken.offer for taken in found]

    def choose(self, offers: Offers, ask: Ask) -> list[Taken] | None:
        """Return the offers that free at least `ask.need` nodes with least harm, or None if there are too few."""
        chosen: list[Taken] = []
        got = 0
        for taken in self._in_order(offers, ask):
            chosen.append(taken)
            got += len(taken.nodes)
            if got >= ask.need:
                break
        if got < ask.need:
            return None
        for taken in reversed(chosen.copy()):
            if got - len(taken.nodes) >= ask.need:
                chosen.remove(taken)
                got -= len(taken.nodes)
        return chosen

    def _in_order(self, offers: Offers, ask: Ask) -> Iterator[Taken]:
        """Yield the offers that the task can use, least harm first; ties by the fewest nodes beyond the need."""
        for _, tied in groupby(offers.sorted, key=lambda offer: offer.key.order):
            usable = []
            for offer in tied:
                self.work += 1
                if nodes := self._freed(offer, ask):
                    usable.append(Taken(offer, nodes))
            if len(usable) > 1:
                usable.sort(key=lambda taken: (max(0, len(taken.offer.turns[0].nodes) - ask.need), taken.offer.key))
            yield from usable

    def _freed(self, offer: Offer, ask: Ask) -> tuple[str, ...]:
        if ask.task.user in offer.users or any(self._just_made_room(turn, ask.task) for turn in offer.turns):
            return ()
        if not (ask.without or ask.zone is not None or ask.task.avoid or ask.task.left_for):
            return offer.nodes
        return tuple(
            name
            for name in offer.nodes
            if name not in ask.without
            and name not in ask.task.avoid
            and ask.zone in (None, self._ledger.floor.zone_of[name])
            and not self._ledger.promised.is_to(name, ask.task.left_for)  # P5
        )

    def _just_made_room(self, turn: Turn, waiting: Task) -> bool:
        """Whether the waiting task is a victim of the turn, which has lasted less than `min_run` (P5).

        Without this rule a victim could take the nodes back at once: an AUTO task may wait at a higher priority than
        it ran at.
        """
        until = turn.run.turn_start + self._rules.policy.min_run
        return waiting.left_for == turn.task.id and self._rules.now < until


def reason_for(turn: Turn, kind: Kind, rules: Rules) -> Reason:
    """Return why a chosen turn ends."""
    reason = rules.reason(turn, kind.priority, kind.rank)
    assert reason is not None, f"task {turn.task.id} may not be told to leave"
    return reason
