"""The walk through the queue: each waiting task starts, has nodes freed for it, or goes on waiting (O1, Q4, B1)."""

from __future__ import annotations

from collections.abc import Collection

from hai_scheduler.core.capacity.preemption import reason_for
from hai_scheduler.core.model.decisions import Start, Suspend
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import Rank, Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.positions import Queue
from hai_scheduler.core.ordering.queue import Subqueue
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.core.ordering.task_buckets import TaskBucket
from hai_scheduler.core.ordering.turns import facts_of, turn_at
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.pending import PendingTask
from hai_scheduler.core.planning.placer import Placer
from hai_scheduler.core.planning.preemptor import Preemptor
from hai_scheduler.core.planning.promises import Promises
from hai_scheduler.core.planning.queue_head import QueueHead
from hai_scheduler.core.planning.refusals import Refusals, Scope


class QueueWalk:
    """Walks through the waiting tasks of a node group, priority by priority, until no further task can be served."""

    def __init__(self, state: GroupState, queue: Queue, placer: Placer, promises: Promises, head: QueueHead) -> None:
        self._state = state
        self._capacity, self._pending, self._rules = state.capacity, state.pending, state.rules
        self._queue = queue
        self._placer = placer
        self._promises = promises
        self._head = head
        self._preemptor = Preemptor(state, placer)
        self._refusals = Refusals(head)
        #: How many tasks were examined.
        self._looks = 0
        #: Whether a task that could not start keeps all tasks behind it waiting (the discipline `fifo`).
        self._blocked = False
        #: Users of tasks that this plan has started.
        self._started: set[str] = set()

    @property
    def work(self) -> int:
        """How many tasks and candidates were examined."""
        return self._looks + self._preemptor.work

    def run(self) -> None:
        """Walk through every priority, highest first; once more where nodes came free for earlier tasks (O1)."""
        for priority in LEVELS:
            subqueue = self._queue.subqueues[priority]
            self._head.release()
            self._promises.lapse(priority)
            self._walk(subqueue, priority)
            while self._refusals.reopened and not self._blocked:
                self._walk(subqueue, priority)
            if self._started and subqueue.auto:
                self._lower_auto_tasks(subqueue, priority)

    def _walk(self, subqueue: Subqueue, priority: Priority) -> None:
        """Examine the tasks of a priority in order, until none that is left can be served."""
        subqueue.begin()
        self._refusals.forget()
        self._head.release()
        waiting = self._pending.tasks
        while not self._blocked and not self._refusals.cover_subqueue(subqueue):
            entry = subqueue.pop(self._refusals.unplaceable)
            if entry is None:
                break
            self._looks += 1
            task = waiting.get(entry.task.id)
            if task is None:
                continue  # it has started
            self._promises.return_quota(task)
            if task.priority is None and (lower := self._state.accounts.level_of(task)) < priority:
                # Its quota at this priority was used up meanwhile (Q4).
                self._lower(task, subqueue, lower, entry.precedence)
                continue
            if not self._refusals.covers(task):
                self._consider(PendingTask(task, priority, entry.precedence))
            if task.promise and self._is_left_without(task):
                self._promises.end(task)
                self._refusals.reopen()

    def _is_left_without(self, task: Task) -> bool:
        """Whether the task waits and has no quota set aside: its promise cannot be kept (B3)."""
        return task.id in self._pending.tasks and self._promises.level_of(task) is None

    def _lower_auto_tasks(self, subqueue: Subqueue, priority: Priority) -> None:
        """Move AUTO tasks to lower subqueues if started tasks of their users have used up their quota here (Q4)."""
        for task in (
            task for bucket in subqueue.auto if bucket.order_scope[0] in self._started for task in bucket.tasks()
        ):
            if (
                task.id not in self._pending.tasks
                or self._promises.level_of(task) is not None
                or subqueue.is_gone(task)
            ):
                continue
            self._looks += 1
            lower = self._state.accounts.level_of(task)
            if lower < priority:
                (precedence,) = self._rules.precedences([task])
                self._lower(task, subqueue, lower, precedence)

    def _lower(self, task: Task, subqueue: Subqueue, priority: Priority, precedence: float) -> None:
        subqueue.remove(task, precedence)
        self._queue.subqueues[priority].add(TaskBucket([task]), precedence)

    # -- one task ---------------------------------------------------------------------------------

    def _consider(self, pending: PendingTask) -> None:
        """Start the task, free nodes for it, or leave it waiting."""
        task, state = pending.task, self._state
        if not self._capacity.node_group.can_ever(task) or not state.in_quota(task, pending.priority):
            return
        if task.not_before is not None and task.not_before > state.now:
            return
        passing = self._head.is_passed_by(task)
        names = self._placer.now(pending, passing=passing)
        if names is not None:
            self._start(pending, names)
        elif not self._make_room(pending):
            self._give_up(pending, passing=passing)

    def _start(self, pending: PendingTask, names: tuple[str, ...]) -> None:
        """Start the task on these nodes (U1)."""
        task, priority, state = pending.task, pending.priority, self._state
        run = Run(
            id=RunId(""),
            number=0,
            ranks=tuple([Rank(rank=number, node=name) for number, name in enumerate(names)]),
            priority=priority,
            started_at=state.now,
        )
        turn = turn_at(facts_of(task, run, state.policy, state.node_group), state.now)
        self._capacity.release(task)
        gpus, gave_way = self._capacity.take(names, turn)
        self._promises.give_way(gave_way)
        state.accounts.add(task.user, priority, state.accounts.units(task))
        self._reopen_for_those_before(task, names)
        state.decisions.append(Start(task_id=task.id, nodes=names, priority=priority, gpus=gpus))
        self._pending.start(task)
        self._started.add(task.user)

    def _make_room(self, pending: PendingTask) -> bool:
        """Promise the task nodes that are being freed, and tell others to leave if that is not enough (P1 to P5)."""
        task = pending.task
        room = self._preemptor.find(pending)
        if room is None:
            return False
        if room.victims and self._takes_quota_of_head(pending):
            # No node is kept for the head then. The nodes that were may do, so that nobody has to leave (P4).
            self._head.release()
            self._refusals.reopen()
            self._consider(pending)
            return True
        for turn in room.victims:
            reason = reason_for(turn, pending.kind, self._rules)
            self._state.decisions.append(Suspend(task_id=turn.task.id, reason=reason, beneficiary=task.id))
        names = self._preemptor.end(room.victims, pending) if room.victims else room.nodes
        self._promises.make(task, pending.priority, names)
        if task.promise != frozenset(names):
            self._reopen_for_those_before(task, names)
        if self._refusals.some_specific:
            self._refusals.reopen(when=self._preemptor.frees_more(room.victims))
        return True

    def _takes_quota_of_head(self, pending: PendingTask) -> bool:
        """Whether the head of the queue is out of quota as soon as the task has nodes (Q1, Q2)."""
        head, accounts = self._head.reservation, self._state.accounts
        if head is None:
            return False
        user, units = pending.task.user, accounts.units(pending.task)
        accounts.add(user, pending.priority, units)
        taken = not self._state.in_quota(head.task, head.priority)
        accounts.add(user, pending.priority, -units)
        return taken

    def _reopen_for_those_before(self, task: Task, names: Collection[str]) -> None:
        """Repeat the walk if earlier tasks may get more nodes, now that this task has these.

        They may if this task had been promised other nodes. The head of the queue may then get other nodes, sooner; if
        its quota was taken, it gets none.
        """
        head = self._head.reservation
        if head is None:
            self._refusals.reopen(when=not task.promise.issubset(names))
        else:
            self._refusals.reopen(when=bool(task.promise) or not self._state.in_quota(head.task, head.priority))

    # -- a task for which nothing can be done -----------------------------------------------------

    def _give_up(self, pending: PendingTask, *, passing: bool) -> None:
        """Leave the task waiting: refuse its size for this walk, and make it the head of the queue if none is (B1)."""
        subqueue = self._queue.subqueues[pending.priority]
        everybody = passing or not self._head.keeps_free
        self._refusals.add(pending.task, subqueue, self._scope(pending, everybody=everybody))
        if self._rules.blocks:
            self._blocked = True
        # Whether tasks are left that could take the reserved nodes.
        others = not self._refusals.cover_subqueue(subqueue)
        if self._rules.reserves and self._head.reservation is None and others:
            self._head.reserve_for(pending)

    def _scope(self, pending: PendingTask, *, everybody: bool) -> Scope:
        """Return which other tasks are refused with the task.

        Another task of its size may get nodes that it may not if equal tasks of its own user hold them (P3), or if
        this task has to leave nodes to others or avoid some (P5, F3).

        Args:
            pending: The task that was refused.
            everybody: Whether the refusal holds alike for tasks that pass the head and for tasks that do not.
        """
        task = pending.task
        own = task.left_for is not None or not self._state.nodes.stand_for_all(task)
        if own or self._has_own_in_its_way(pending):
            return Scope.USER if everybody and not own else Scope.TASK
        return Scope.EVERYBODY if everybody else Scope.NOT_PASSING

    def _has_own_in_its_way(self, pending: PendingTask) -> bool:
        """Whether tasks of the same user hold nodes that another user might get and this task may not (P3)."""
        user = pending.task.user
        if self._state.candidate_index.candidates(pending.kind).own.get(user, 0):
            return True
        return any(turn.task.user == user for turn in self._capacity.cross_zone_turns)
