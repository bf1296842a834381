"""The plan of one node group in the making (docs/scheduling.md, rule by rule)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from hai_scheduler.core.capacity.ledger import Ledger
from hai_scheduler.core.capacity.must_leave import must_leave
from hai_scheduler.core.capacity.preemption import Chooser, Kind, Market, Offers, reason_for
from hai_scheduler.core.capacity.reservation import Reservation, earliest, passes
from hai_scheduler.core.model.decisions import Decision, Keep, Start, Suspend
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import Rank as RunRank
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.core.nodes.floor import Floor
from hai_scheduler.core.nodes.placement import choose
from hai_scheduler.core.nodes.quarantine import quarantines
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.parts import Part, Size, size_of
from hai_scheduler.core.ordering.places import Queue
from hai_scheduler.core.ordering.queue import Hopeless, Lane
from hai_scheduler.core.ordering.quota import LEVELS, Accounts
from hai_scheduler.core.ordering.rules import RULES, Rules
from hai_scheduler.core.ordering.turns import Turn, span_of, turn_at
from hai_scheduler.core.ordering.user_use import UserUse
from hai_scheduler.core.planning.answers import Answers
from hai_scheduler.core.planning.memory import Memory

_ID = attrgetter("id")


@dataclass(slots=True)
class Waiting:
    """A waiting task on its way through the queue."""

    task: Task
    priority: Priority
    rank: float

    @property
    def kind(self) -> Kind:
        """What it may ask others for."""
        return Kind(self.priority, self.rank, self.task.gpus)


class GroupPlan:
    """The plan of one node group in the making."""

    def __init__(
        self,
        group: str,
        snapshot: Snapshot,
        policy: Policy,
        discipline: Discipline,
        memory: Memory,
    ) -> None:
        floor = memory.floors.get(group) or Floor(())
        self.snapshot, self.policy, self.now = snapshot, policy, snapshot.now
        bad = quarantines(floor.nodes.values(), snapshot.strikes, policy, self.now)
        self.decisions: list[Decision] = list(bad)
        if bad:
            marked = [replace(floor.nodes[each.node], mark=NodeMark.QUARANTINED) for each in bad]
            floor = Floor((floor.nodes | {node.name: node for node in marked}).values())
        self.floor, self.standing = floor, memory.groups[group]
        self.turns = self.standing.turns(policy, self.now, floor)
        #: Nobody asks for nodes while nothing waits: then only what must end is looked for.
        waits = bool(self.standing.waiting)
        turns = list(self.turns.values())
        self.ledger = Ledger(floor if waits else Floor(()), turns if waits else ())
        self.accounts = Accounts(memory.book, group, floor.gpus_per_node)
        if waits or self.standing.held:
            self.accounts.begin((turn.task, turn.run.priority) for turn in turns)
        uses = (use for use in snapshot.uses if use.group == group)
        self.rules: Rules = RULES[discipline](
            policy, self.now, UserUse(uses, turns, policy, self.now), snapshot.remaining
        )
        self.market = Market(self.ledger, turns, self.rules)
        self.chooser = Chooser(self.ledger, self.rules)
        #: Decayed use of the users who wait (O3).
        self.use: dict[str, float] = {}
        self.standing.line_up(self.rules)
        self.queue = Queue({level: Lane(self.standing.plain(level), self.use) for level in LEVELS})
        self.answers = Answers(self.ledger, self.turns, self.rules, self.accounts, self.queue, policy)
        self.answers.paused, self.answers.waiting = snapshot.paused, self.standing.waiting.copy()
        #: Quota that is set aside for tasks with a promise, by task.
        self.aside: dict[TaskId, Priority] = {}
        #: What tasks had been promised whose promises this plan changes.
        self.before: dict[TaskId, frozenset[str]] = {}
        #: For whom nodes are kept free at the present priority (B1).
        self.reservation: Reservation | None = None
        #: Sizes of tasks of the present priority for which nothing can be done any more: for nobody, and for nobody
        #: who may not use what is kept for the head of the queue.
        self.refused: set[Size] = set()
        self.refused_unless_passing: set[Size] = set()
        #: ... and for no other task of a user whose own tasks do not leave for him (P3).
        self.refused_to: defaultdict[str, set[Size]] = defaultdict(set)
        #: Whether a task of the present priority was refused for reasons of its own, so that others' leavings may do.
        self.choosy = False
        #: Whether room came free that tasks of the present priority had been refused.
        self.reopened = False
        self.looks = 0
        self.blocked = False
        #: Users of whom something has started.
        self.started: set[str] = set()

    @property
    def work(self) -> int:
        """Tasks, turns, nodes and offers that were looked at."""
        return len(self.turns) + self.looks + self.market.work + self.chooser.work

    def run(self) -> None:
        """Fill `decisions` and `answers`."""
        for turn, decision in must_leave(self.turns.values(), self.snapshot, self.floor.draining):
            self.decisions.append(decision)
            self.ledger.leave(turn)
        for task in self.standing.held.values():
            self.answers.hold(task, self.accounts.level_of(task))
        if not self.standing.waiting:
            return
        self.use.update((user, self.rules.use_of(user)) for user in self.standing.users())
        special = [self._known(task) for task in sorted(self.standing.special.values(), key=_ID)]
        if not self.snapshot.paused:
            self._keep_promises([task for task in special if task.promise])
        self._line_up(special)
        if not self.snapshot.paused:
            self._serve()
            self._say_promises()

    def _line_up(self, special: Sequence[Task]) -> None:
        """AUTO tasks go where they have quota (Q4); promises have been kept or have lapsed."""
        for (rank, _), part in self.standing.auto():
            self.queue.lanes[self.accounts.level_of(part.first)].add(part, rank)
        for rank, task in zip(self.rules.ranks(special), special, strict=True):
            level = self.aside[task.id] if task.id in self.aside else self.accounts.level_of(task)
            self.queue.lanes[level].add(Part([self.answers.waiting[task.id]]), rank)

    def _known(self, task: Task) -> Task:
        """The task without the nodes to avoid, if it cannot do without them: unlucky ones are better than none (F3)."""
        if task.avoid and not self.floor.can_avoid(task):
            task = self.answers.waiting[task.id] = replace(task, avoid=frozenset())
        return task

    # -- promises (B3) ----------------------------------------------------------------------------

    def _keep_promises(self, promised: Sequence[Task]) -> None:
        """Keep nodes and quota for tasks that others have been told to leave for.

        A promise lapses when it cannot be kept whole any more, so that no node idles for nothing; the task then waits
        at its place in the queue like all others.
        """
        keys = {
            task.id: (-self.accounts.level_of(task), rank, self.use[task.user], task.submitted_at, task.id)
            for rank, task in zip(self.rules.ranks(promised), promised, strict=True)
        }
        for task in sorted(promised, key=lambda task: keys[task.id]):
            level = self.accounts.level_of(task)
            names = self._kept(task, level) if self._in_quota(task, level) else None
            if names is None:
                self._promised(task, ())
            else:
                self.ledger.promise(names, task, level)
                self._set_aside(task, level)

    def _kept(self, task: Task, priority: Priority) -> tuple[str, ...] | None:
        """The nodes promised to the task, if they are free or being freed and nobody else's."""
        soon = self.ledger.soon_of(task.promise, task, priority)
        own = [*soon, *self.ledger.now_of(task.promise, task, priority)]
        return self._choose(own, task, self._may_cross(task, priority, soon=True))

    def _promised(self, task: Task, names: Collection[str]) -> None:
        """Note what the task is promised from now on."""
        self.before.setdefault(task.id, task.promise)
        self.answers.waiting[task.id] = replace(task, promise=frozenset(names))

    def _lapse(self, task: Task) -> None:
        """What was promised to the task is open to others, at once and all of it."""
        self.ledger.release(task)
        self._take_back(task)
        self._promised(task, ())

    def _give_way(self, tasks: Iterable[TaskId]) -> None:
        """Promises of these tasks were lower and in the way."""
        for task_id in sorted(tasks):
            self._lapse(self.answers.waiting[task_id])

    def _say_promises(self) -> None:
        for task_id, before in self.before.items():
            task = self.answers.waiting.get(task_id)
            if task is not None and task.promise != before:
                self.decisions.append(Keep(task_id=task_id, nodes=task.promise))

    def _choose(self, names: Collection[str], task: Task, across: bool) -> tuple[str, ...] | None:
        """Nodes for the gang; others' promises give way only if it cannot do without (B3)."""
        good = self.ledger.without_others(names, task)
        chosen = choose(self.ledger.by_leaf(good), task.nodes, across=across)
        if chosen is None and len(good) < len(names):
            chosen = choose(self.ledger.by_leaf(names), task.nodes, across=across)
        return chosen

    def _may_cross(self, task: Task, priority: Priority, *, soon: bool) -> bool:
        """Whether the task may span zones now or, `soon`, when those who are leaving have left (F2)."""
        return self.ledger.crossing(task, priority, soon=soon) < self.policy.max_cross_zone

    def _in_quota(self, task: Task, priority: Priority) -> bool:
        return self.accounts.fits(task.user, priority, self.accounts.units(task))

    def _set_aside(self, task: Task, priority: Priority) -> None:
        self.accounts.add(task.user, priority, self.accounts.units(task))
        self.aside[task.id] = priority

    def _take_back(self, task: Task) -> None:
        priority = self.aside.pop(task.id, None)
        if priority is not None:
            self.accounts.add(task.user, priority, -self.accounts.units(task))

    # -- the queue (O1, Q4) -----------------------------------------------------------------------

    def _serve(self) -> None:
        """Look at the tasks in order, priority by priority, and again where room has come free for those before."""
        for priority in LEVELS:
            lane = self.queue.lanes[priority]
            lane.begin()
            self._serve_lane(lane, priority)
            while self.reopened and not self.blocked:
                lane.begin()
                self._serve_lane(lane, priority)
            if self.started and lane.auto:
                self._let_fall(lane, priority)

    def _serve_lane(self, lane: Lane, priority: Priority) -> None:
        """Look at the tasks of a priority for as long as anything can be done for anybody."""
        self._open_priority()
        hopeless = Hopeless(self.refused, self._is_hopeless, self._are_hopeless, self._not_passing)
        while not self.blocked and not self._nothing_left(lane):
            entry = lane.pop(hopeless)
            if entry is None:
                break
            self.looks += 1
            task = self.answers.waiting.get(entry[4].id)
            if task is None:
                continue  # it has started
            if self.aside:
                self._take_back(task)
            if task.priority is None and (lower := self.accounts.level_of(task)) < priority:
                lane.remove(task, entry[0])  # its level was used up meanwhile (Q4)
                self.queue.lanes[lower].add(Part([task]), entry[0])
                continue
            if not self._is_hopeless(task):
                self._consider(Waiting(task, priority, entry[0]))
            if task.promise and task.id in self.answers.waiting and task.id not in self.aside:
                self._lapse(task)
                self.reopened = True

    def _is_hopeless(self, task: Task) -> bool:
        """Whether its size was refused to everybody, to its user, or to those who may not pass the head."""
        if task.promise:
            return False
        size = size_of(task)
        if size in self.refused or size in self.refused_to.get(task.user, ()):
            return True
        return size in self.refused_unless_passing and not self._passes(task)

    def _are_hopeless(self, user: str, size: Size) -> bool | None:
        """What `_is_hopeless` says of each task of that user and size without a promise; None if they differ."""
        if size in self.refused or size in self.refused_to.get(user, ()):
            return True
        return None if size in self.refused_unless_passing else False

    def _not_passing(self) -> Callable[[Task], bool]:
        """What `_is_hopeless` says where `_are_hopeless` says None, whatever becomes of the head of the queue."""
        head, rules = self.reservation, self.rules
        if head is None or not self.ledger.keeps_free:
            return lambda _: True
        return lambda task: not passes(task, head, rules)

    def _nothing_left(self, lane: Lane) -> bool:
        """Whether nothing can be done for any task that is left in the lane."""
        return len(self.refused) >= len(lane.sizes) and not lane.promised

    def _let_fall(self, lane: Lane, priority: Priority) -> None:
        """Put AUTO tasks into lower lanes whose level was used up by what their users have started (Q4)."""
        for task in (task for part in lane.auto if part.hand[0] in self.started for task in part.tasks()):
            if task.id not in self.answers.waiting or task.id in self.aside or lane.is_gone(task):
                continue
            self.looks += 1
            lower = self.accounts.level_of(task)
            if lower < priority:
                (rank,) = self.rules.ranks([task])
                lane.remove(task, rank)
                self.queue.lanes[lower].add(Part([task]), rank)

    def _open_priority(self) -> None:
        """What is kept for the head of a priority is open to lower ones: they give it back (B2, P1)."""
        self.refused.clear()
        self.refused_unless_passing.clear()
        self.refused_to.clear()
        self.choosy = self.reopened = False
        if self.reservation is not None:
            self.reservation = None
            self.ledger.reserve(())
            self.market.forget()

    def _consider(self, waiting: Waiting) -> None:
        """Start it, free nodes for it, or leave it waiting."""
        task = waiting.task
        if not self.ledger.floor.can_ever(task) or not self._in_quota(task, waiting.priority):
            return
        if task.not_before is not None and task.not_before > self.now:
            return
        passing = self._passes(task)
        if not self._start(waiting, passing=passing) and not self._make_room(waiting):
            self._give_up(waiting, passing=passing)

    def _passes(self, task: Task) -> bool:
        """Whether the task may use nodes that are kept for the head of the queue (B2)."""
        head = self.reservation
        return head is not None and self.ledger.keeps_free and passes(task, head, self.rules)

    # -- starting ---------------------------------------------------------------------------------

    def _start(self, waiting: Waiting, *, passing: bool) -> bool:
        names = self._place(waiting, passing=passing)
        if names is None:
            return False
        task, priority = waiting.task, waiting.priority
        run = Run(
            id=RunId(""),
            number=0,
            ranks=tuple([RunRank(rank=number, node=name) for number, name in enumerate(names)]),
            priority=priority,
            started_at=self.now,
        )
        turn = turn_at(span_of(task, run, self.policy, self.floor), self.now)
        self.ledger.release(task)
        gpus, gave_way = self.ledger.take(names, turn)
        self._give_way(gave_way)
        self.accounts.add(task.user, priority, self.accounts.units(task))
        self._look_back(task, names)
        self.decisions.append(Start(task_id=task.id, nodes=names, priority=priority, gpus=gpus))
        del self.answers.waiting[task.id]
        self.started.add(task.user)
        return True

    def _place(self, waiting: Waiting, *, passing: bool) -> tuple[str, ...] | None:
        task, priority = waiting.task, waiting.priority
        across = task.nodes > 1 and self._may_cross(task, priority, soon=False)
        if passing or self.ledger.special(task, priority):
            own = self.ledger.promised_to(task) if task.promise else []
            kept = self.ledger.now_of(own, task, priority, reserved=passing)
            if len(kept) >= task.nodes and (chosen := self._choose(kept, task, across)) is not None:
                return chosen
            names = self.ledger.now_for(task, priority, reserved=passing)
            if len(own) == task.nodes:  # its own are on their way: it does not take what is promised to others
                names = self.ledger.without_others(names, task)
            return self._choose(names, task, across)
        if self.ledger.count_open(task.gpus) < task.nodes:
            return None
        if task.gpus is None:
            return choose(self.ledger.empty, task.nodes, across=across)
        if task.nodes == 1 and (name := self.ledger.open_part(task.gpus)) is not None:
            return (name,)
        if task.nodes == 1:
            return choose(self.ledger.empty, 1, across=True)
        return self._choose(self.ledger.now_for(task, priority), task, across)

    # -- making room (P1 to P5) -------------------------------------------------------------------

    def _make_room(self, waiting: Waiting) -> bool:
        """Promise nodes that are being freed, and tell others to leave if that is not enough."""
        task, priority = waiting.task, waiting.priority
        kept = self.ledger.promised_to(task) if task.promise else []
        across = self._may_cross(task, priority, soon=True)
        if len(kept) == task.nodes and self._choose(kept, task, across) is not None:
            self._keep(waiting, tuple(kept))
            return True
        offers = self._offers(waiting)
        if offers is None:
            return False
        open_now = self.ledger.now_for(task, priority)
        soon = self.ledger.soon_for(task, priority)
        names = self._choose((*soon, *open_now), task, across)
        if names is None:
            victims = self.chooser.victims(offers, task, (*open_now, *soon))
            if victims is None:
                return False
            self._suspend(waiting, victims)
            names = self._choose(
                (*self.ledger.soon_for(task, priority), *self.ledger.now_for(task, priority)),
                task,
                self._may_cross(task, priority, soon=True),
            )
            assert names is not None, f"task {task.id} has no room although others leave for it"
            self._keep(waiting, names)
            self.reopened |= self.choosy and self._left_over(victims)
            return True
        self._keep(waiting, names)
        return True

    def _left_over(self, victims: Iterable[Turn]) -> bool:
        """Whether their leaving frees more than is promised: nodes, GPUs, or the one place across zones (F2)."""
        return any(
            turn in self.ledger.crossers or any(self.ledger.has_left(name) for name in turn.nodes) for turn in victims
        )

    def _offers(self, waiting: Waiting) -> Offers | None:
        """What others may have to give; None if that, and what is free or being freed, is too little by count alone."""
        task = waiting.task
        if self.ledger.special(task, waiting.priority):
            return self.market.offers_to(task.user, waiting.kind, task.nodes)
        need = task.nodes - self.ledger.count_open(task.gpus) - self.ledger.count_soon(task.gpus)
        offers = self.market.offers_to(task.user, waiting.kind, need)
        return offers if offers.total - offers.own.get(task.user, 0) >= need else None

    def _keep(self, waiting: Waiting, names: tuple[str, ...]) -> None:
        task = waiting.task
        self.ledger.release(task)
        self._give_way(self.ledger.promise(names, task, waiting.priority))
        self._set_aside(task, waiting.priority)
        if task.promise != frozenset(names):
            self._promised(task, names)
            self._look_back(task, names)
        self.answers.kinds[task.id] = VerdictKind.DRAINING

    def _suspend(self, waiting: Waiting, turns: Sequence[Turn]) -> None:
        for turn in turns:
            reason = reason_for(turn, waiting.kind, self.rules)
            self.decisions.append(Suspend(task_id=turn.task.id, reason=reason, beneficiary=waiting.task.id))
            self.ledger.leave(turn)

    def _look_back(self, task: Task, names: Collection[str]) -> None:
        """Whether those before the task may have more, now that it has these nodes.

        They may if it had been promised others. The one for whom nodes are kept free may have others, sooner, if a
        promise has become a turn, and none if its quota was taken.
        """
        head = self.reservation
        if head is None:
            self.reopened |= not task.promise.issubset(names)
        else:
            self.reopened |= bool(task.promise) or not self._in_quota(head.task, head.priority)

    # -- waiting for room -------------------------------------------------------------------------

    def _give_up(self, waiting: Waiting, *, passing: bool) -> None:
        """Nothing can be done for the task. It may be the head of the queue (B1); its size need not be tried again."""
        everybody = passing or self.reservation is None or not self.ledger.keeps_free
        self._refuse(waiting, everybody=everybody)
        if self.rules.blocks:
            self.blocked = True
        lane = self.queue.lanes[waiting.priority]
        others = lane.promised or len(self.refused) < len(lane.sizes)  # nobody else could take what is kept for it
        if self.rules.reserves and self.reservation is None and others:
            self._reserve_for(waiting)

    def _refuse(self, waiting: Waiting, *, everybody: bool) -> None:
        """Note the size, and all sizes that are no easier, unless the refusal was the task's own (P3, P5, F3)."""
        task = waiting.task
        gpus, nodes = size_of(task)
        lane = self.queue.lanes[waiting.priority]
        harder = {size for size in lane.sizes if size[0] >= gpus and size[1] >= nodes}
        if not self._is_choosy(waiting):
            (self.refused if everybody else self.refused_unless_passing).update(harder)
            return
        self.choosy = True
        if everybody and task.left_for is None and self.ledger.alike(task):
            self.refused_to[task.user] |= harder

    def _is_choosy(self, waiting: Waiting) -> bool:
        """Whether others of its size may be given what it is not (P3, P5, F3)."""
        task = waiting.task
        if task.left_for is not None or not self.ledger.alike(task):
            return True
        if self.market.offers(waiting.kind).own.get(task.user, 0):
            return True
        return any(turn.task.user == task.user for turn in self.ledger.crossers)

    def _reserve_for(self, waiting: Waiting) -> None:
        """Keep nodes for the first task of the priority that must wait for room, if it can be said until when (B1)."""
        found = earliest(waiting.task, waiting.priority, waiting.rank, self.ledger, self.rules)
        self.market.work += len(self.floor.nodes)
        if found is not None:
            self.reservation = found
            self.answers.reservations[waiting.priority] = found
            self.ledger.reserve(found.nodes)
            self.market.forget()
