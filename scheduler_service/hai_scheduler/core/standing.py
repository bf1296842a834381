"""The unfinished tasks of one node group, sorted out as a plan wants them."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter

from hai_scheduler.core.model import Priority, Task, TaskId
from hai_scheduler.core.policy import Policy
from hai_scheduler.core.queue import Part, Size, Stand, size_of
from hai_scheduler.core.quota import LEVELS
from hai_scheduler.core.rules import Rules
from hai_scheduler.core.turns import Span, Turn, span_of, turn_at
from hai_scheduler.core.use import share_of


class Standing:
    """The unfinished tasks of one node group."""

    def __init__(self) -> None:
        self.live: dict[TaskId, Task] = {}
        self._spans: dict[TaskId, Span] = {}
        self.held: dict[TaskId, Task] = {}
        #: Tasks that wait for a turn: those in `special` and in `plain`.
        self.waiting: dict[TaskId, Task] = {}
        #: Tasks whose level, or whose nodes, each plan has to find: AUTO (Q4), promised nodes (B3), unlucky ones (F3).
        self.special: dict[TaskId, Task] = {}
        #: All others, by the level that they ask for, and what they ask for there, and how many of them. Parts and
        #: mappings are replaced, never changed: the verdicts of earlier plans are read from them.
        self.plain: dict[Priority, dict[Stand, Part]] = {level: {} for level in LEVELS}
        self.sizes: dict[Priority, Counter[Size]] = {level: Counter() for level in LEVELS}
        self._stands: dict[TaskId, Stand] = {}
        self._come: list[Task] = []
        self._gone: list[Task] = []
        #: When time alone changes ranks; the number keeps equal times apart.
        self._rises: list[tuple[datetime, int, Task]] = []
        self._numbers = count()

    def __bool__(self) -> bool:
        return bool(self.live or self.held or self.waiting)

    def add(self, task: Task) -> None:
        """Take in a task."""
        if not task.state.waiting:
            self.live[task.id] = task
        elif task.held:
            self.held[task.id] = task
        else:
            self.waiting[task.id] = task
            if _is_special(task):
                self.special[task.id] = task
            else:
                self._come.append(task)

    def remove(self, task: Task) -> None:
        """Let a task go; another state of it may come in afterwards."""
        if not task.state.waiting:
            del self.live[task.id]
            self._spans.pop(task.id, None)
        elif task.held:
            del self.held[task.id]
        else:
            del self.waiting[task.id]
            if _is_special(task):
                del self.special[task.id]
            else:
                self._gone.append(task)

    def turns(self, policy: Policy, now: datetime, gpus_per_node: int) -> dict[TaskId, Turn]:
        """The turns of those who hold nodes, in order of id; the policy is always the same (`Memory` sees to it)."""
        for task in self.live.values():
            run = task.live_run
            if run is not None and task.id not in self._spans:
                self._spans[task.id] = span_of(task, run, policy)
        spans = sorted(self._spans.items(), key=itemgetter(0))
        return {task_id: turn_at(span, now, share_of(span.task, gpus_per_node)) for task_id, span in spans}

    def line_up(self, rules: Rules) -> None:
        """Put into `plain` what has come, take out what has gone, and move what time has moved (O2)."""
        while self._rises and self._rises[0][0] < rules.now:
            task = heappop(self._rises)[2]
            if self.waiting.get(task.id) is task:
                self._gone.append(task)
                self._come.append(task)
        lost: defaultdict[tuple[Priority, Stand], set[TaskId]] = defaultdict(set)
        for task in self._gone:
            level = _level_of(task)
            lost[level, self._stands.pop(task.id)].add(task.id)
            self.sizes[level] -= Counter([size_of(task)])
        found: defaultdict[tuple[Priority, Stand], list[Task]] = defaultdict(list)
        for rank, task in zip(rules.ranks(self._come), self._come, strict=True):
            level = _level_of(task)
            self._stands[task.id] = (rank, task.user)
            found[level, (rank, task.user)].append(task)
            self.sizes[level][size_of(task)] += 1
            if (until := rules.rank_until(task, rank)) is not None:
                heappush(self._rises, (until, next(self._numbers), task))
        plain = {level: dict(self.plain[level]) for level, _ in lost.keys() | found.keys()}
        for level, stand in lost.keys() | found.keys():
            before = plain[level].pop(stand, None)
            kept = [task for task in before.tasks() if task.id not in lost[level, stand]] if before else []
            if tasks := kept + found[level, stand]:
                plain[level][stand] = Part(tasks)
        self.plain |= plain
        self._come, self._gone = [], []


def _level_of(task: Task) -> Priority:
    assert task.priority is not None, f"task {task.id} is AUTO: its level is found by each plan"
    return task.priority


def _is_special(task: Task) -> bool:
    return task.priority is None or bool(task.promise) or bool(task.avoid)
