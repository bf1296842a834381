"""The unfinished tasks of one node group, sorted out as a plan wants them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter

from hai_scheduler.core.floor import Floor
from hai_scheduler.core.model import Priority, Task, TaskId
from hai_scheduler.core.policy import Policy
from hai_scheduler.core.queue import Part, Size, Stand, size_of
from hai_scheduler.core.quota import LEVELS
from hai_scheduler.core.rules import Rules
from hai_scheduler.core.turns import Span, Turn, span_of, turn_at

#: The level that tasks ask for; for AUTO tasks, whose level each plan has to find (Q4), also how much they ask for.
_Bin = tuple[Priority | None, Size | None]


class Standing:
    """The unfinished tasks of one node group."""

    def __init__(self) -> None:
        self.held: dict[TaskId, Task] = {}
        #: Tasks that wait for a turn.
        self.waiting: dict[TaskId, Task] = {}
        #: Those of them that each plan has to look at: they have been promised nodes (B3), or unlucky on some (F3).
        self.special: dict[TaskId, Task] = {}
        #: What the others ask for, and how many of them, by the level that they ask for.
        self.sizes: dict[Priority | None, Counter[Size]] = {level: Counter() for level in (*LEVELS, None)}
        #: The others. Parts and mappings are replaced, never changed: the verdicts of earlier plans are read from them.
        self._bins: dict[_Bin, dict[Stand, Part]] = {}
        self._stands: dict[TaskId, Stand] = {}
        self._come: list[Task] = []
        self._gone: list[Task] = []
        #: When time alone changes ranks; the number keeps equal times apart.
        self._rises: list[tuple[datetime, int, Task]] = []
        self._numbers = count()
        self._live: dict[TaskId, Task] = {}
        self._begun: list[Task] = []
        self._spans: dict[TaskId, Span] = {}
        self._floor = Floor(())

    def __bool__(self) -> bool:
        return bool(self._live or self.held or self.waiting)

    def add(self, task: Task) -> None:
        """Take in a task."""
        if not task.state.waiting:
            self._live[task.id] = task
            self._begun.append(task)
        elif task.held:
            self.held[task.id] = task
        else:
            self.waiting[task.id] = task
            if task.promise or task.avoid:
                self.special[task.id] = task
            else:
                self._come.append(task)

    def remove(self, task: Task) -> None:
        """Let a task go; another state of it may come in afterwards."""
        if not task.state.waiting:
            del self._live[task.id]
            self._spans.pop(task.id, None)
        elif task.held:
            del self.held[task.id]
        else:
            del self.waiting[task.id]
            if self.special.pop(task.id, None) is None:
                self._gone.append(task)

    # -- who holds nodes --------------------------------------------------------------------------

    def turns(self, policy: Policy, now: datetime, floor: Floor) -> dict[TaskId, Turn]:
        """The turns of those who hold nodes, in order of id; the policy is always the same (`Memory` sees to it)."""
        begun = self._begun
        if floor is not self._floor:
            begun = list(self._live.values())
            self._spans.clear()
        for task in begun:
            run = task.live_run
            if run is not None and self._live.get(task.id) is task:
                self._spans[task.id] = span_of(task, run, policy, floor)
        self._floor, self._begun = floor, []
        return {task_id: turn_at(span, now) for task_id, span in sorted(self._spans.items(), key=itemgetter(0))}

    # -- who waits --------------------------------------------------------------------------------

    def plain(self, level: Priority) -> Mapping[Stand, Part]:
        """Those who ask for the level, but the special."""
        return self._bins.get((level, None), {})

    def auto(self) -> Iterator[tuple[Stand, Part]]:
        """AUTO tasks, but the special. All tasks of a part have the same level, whichever it is (Q4)."""
        for (level, _), parts in self._bins.items():
            if level is None:
                yield from parts.items()

    def users(self) -> set[str]:
        """All who wait."""
        users = {user for parts in self._bins.values() for _, user in parts}
        return users | {task.user for task in self.special.values()}

    def line_up(self, rules: Rules) -> None:
        """Put where it belongs what has come, take out what has gone, and move what time has moved (O2)."""
        while self._rises and self._rises[0][0] < rules.now:
            task = heappop(self._rises)[2]
            if self.waiting.get(task.id) is task:
                self._gone.append(task)
                self._come.append(task)
        lost: defaultdict[tuple[_Bin, Stand], set[TaskId]] = defaultdict(set)
        for task in self._gone:
            lost[_bin_of(task), self._stands.pop(task.id)].add(task.id)
            self.sizes[task.priority] -= Counter([size_of(task)])
        found: defaultdict[tuple[_Bin, Stand], list[Task]] = defaultdict(list)
        for rank, task in zip(rules.ranks(self._come), self._come, strict=True):
            self._stands[task.id] = (rank, task.user)
            found[_bin_of(task), (rank, task.user)].append(task)
            self.sizes[task.priority][size_of(task)] += 1
            if (until := rules.rank_until(task, rank)) is not None:
                heappush(self._rises, (until, next(self._numbers), task))
        changed = lost.keys() | found.keys()
        self._bins |= {key: dict(self._bins.get(key, {})) for key, _ in changed}
        for key, stand in changed:
            parts, gone = self._bins[key], lost[key, stand]
            before = parts.pop(stand).tasks() if stand in parts else []
            tasks = [task for task in before if task.id not in gone] + found[key, stand]
            if tasks:
                parts[stand] = Part(tasks)
        self._come, self._gone = [], []


def _bin_of(task: Task) -> _Bin:
    return (task.priority, size_of(task) if task.priority is None else None)
