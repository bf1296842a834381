"""The plan of one node group, in the steps of docs/scheduling.md ("How a plan is made")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from hai_scheduler.core.capacity.forced_exits import forced_exits
from hai_scheduler.core.model.decisions import Decision
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.ordering.positions import Queue
from hai_scheduler.core.ordering.queue import Subqueue
from hai_scheduler.core.ordering.quota import LEVELS
from hai_scheduler.core.ordering.task_buckets import TaskBucket
from hai_scheduler.core.planning.group_state import GroupState
from hai_scheduler.core.planning.group_verdicts import GroupVerdicts
from hai_scheduler.core.planning.next_change import Outlook
from hai_scheduler.core.planning.placer import Placer
from hai_scheduler.core.planning.plan_cache import PlanCache
from hai_scheduler.core.planning.promises import Promises
from hai_scheduler.core.planning.queue_head import QueueHead
from hai_scheduler.core.planning.queue_walk import QueueWalk

_ID = attrgetter("id")


@dataclass(frozen=True, slots=True)
class GroupDecisions:
    """The decisions for one node group, and what later questions about its plan are answered from."""

    decisions: Sequence[Decision]
    #: The verdicts of the tasks that go on waiting.
    answers: GroupVerdicts
    #: What `horizon` needs to say when time alone changes the plan.
    outlook: Outlook
    #: How many tasks, turns, nodes and candidates were examined.
    work: int


class GroupPlan:
    """The plan of one node group while it is made. Call `make` once."""

    def __init__(
        self, group: str, snapshot: Snapshot, policy: Policy, discipline: Discipline, cache: PlanCache
    ) -> None:
        """Prepare the plan of a group; `cache` must have been updated with the snapshot."""
        self._snapshot, self._paused = snapshot, snapshot.paused
        self._state = state = GroupState(group, snapshot, policy, discipline, cache)
        self._task_index, self._accounts, self._rules = state.task_index, state.accounts, state.rules
        #: Decayed use of the users who have waiting tasks (O3).
        self._use: dict[str, float] = {}
        self._task_index.line_up(self._rules)
        low = snapshot.counted_low
        self._queue = Queue({level: Subqueue(self._task_index.plain(level, low), self._use) for level in LEVELS})
        self._head = QueueHead(state.capacity, state.candidate_index, self._rules)
        placer = Placer(state)
        self._promises = Promises(state, placer)
        self._walk = QueueWalk(state, self._queue, placer, self._promises, self._head)

    def make(self) -> GroupDecisions:
        """Take the steps of the plan, and return what they have decided."""
        self._end_turns()  # 1
        self._note_held_tasks()  # 2
        if self._task_index.waiting:
            self._use.update((user, self._rules.use_of(user)) for user in self._task_index.users())
            special = self._special_tasks()
            if not self._paused:
                self._keep_promises(special)  # 3
            self._line_up(special)  # 4
            if not self._paused:
                self._walk.run()  # 5 and 6
                self._state.decisions += self._state.pending.changed_promises()  # 7
        return self._made()

    def _end_turns(self) -> None:
        """Step 1: end turns for time limits, pauses and drains. Bad nodes are in quarantine by now (H3)."""
        state = self._state
        for turn, decision in forced_exits(state.turns.values(), self._snapshot, state.node_group.draining):
            state.decisions.append(decision)
            state.capacity.leave(turn)

    def _note_held_tasks(self) -> None:
        """Step 2: note the held tasks, which are not in the queue."""
        for task in self._task_index.held.values():
            self._state.pending.hold(task, self._accounts.level_of(task))

    def _special_tasks(self) -> list[Task]:
        """Return the tasks that were promised nodes or that avoid nodes, by id.

        A task that does not fit without the nodes that it avoids may use them after all (F3).
        """
        node_group, pending = self._state.node_group, self._state.pending
        return [
            pending.allow_all_nodes(task) if task.avoid and not node_group.can_avoid(task) else task
            for task in sorted(self._task_index.special.values(), key=_ID)
        ]

    def _keep_promises(self, special: Sequence[Task]) -> None:
        """Step 3: keep earlier promises of nodes, and set quota aside for them, in queue order (B3)."""
        promised = [task for task in special if task.promise]
        keys = {
            task.id: (-self._accounts.level_of(task), precedence, self._use[task.user], task.submitted_at, task.id)
            for precedence, task in zip(self._rules.precedences(promised), promised, strict=True)
        }
        self._promises.keep(sorted(promised, key=lambda task: keys[task.id]))

    def _line_up(self, special: Sequence[Task]) -> None:
        """Step 4: put AUTO tasks where they have quota (Q4), and special tasks where their promises are.

        Tasks of users without budget go to LOW (Q7).
        """
        asked = self._task_index.asked_by(self._snapshot.counted_low)
        for (precedence, _), bucket in (*self._task_index.auto(), *asked):
            self._queue.subqueues[self._accounts.level_of(bucket.first)].add(bucket, precedence)
        for precedence, task in zip(self._rules.precedences(special), special, strict=True):
            kept = self._promises.level_of(task)
            level = self._accounts.level_of(task) if kept is None else kept
            self._queue.subqueues[level].add(TaskBucket([self._state.pending.tasks[task.id]]), precedence)

    def _made(self) -> GroupDecisions:
        state = self._state
        answers = GroupVerdicts(state, self._queue, self._promises.renewed, self._head.by_priority, paused=self._paused)
        outlook = Outlook(
            now=state.now,
            policy=state.policy,
            rules=state.rules,
            turns=state.turns,
            waiting=state.pending.tasks,
            subqueues=self._queue.subqueues,
            use=self._use,
        )
        work = len(state.turns) + state.candidate_index.work + self._walk.work
        return GroupDecisions(state.decisions, answers, outlook, work)

    def check(self) -> None:
        """Raise AssertionError unless GPUs, promises and quota agree as the steps have left them."""
        self._state.capacity.check()
        if not self._paused:  # a pause leaves promises as they are
            self._promises.check([task for task in self._state.pending.tasks.values() if not task.held])
