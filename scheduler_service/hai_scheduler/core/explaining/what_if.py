"""What would let a waiting task start: found by asking `plan` itself, so that it is true by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil, floor

from hai_scheduler.core.explaining.alternatives import ChangeKind, WhatIf
from hai_scheduler.core.model.decisions import Plan, Start, Suspend
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind
from hai_scheduler.core.ordering.use import share_of
from hai_scheduler.core.planning.memory import Memory
from hai_scheduler.core.planning.plan import plan

#: How often one explanation asks `plan` at most.
MOST_PLANS = 8

#: What a task waits for that no change of its own would shorten.
_ITS_OWN_WAY = frozenset({VerdictKind.HELD, VerdictKind.PAUSED, VerdictKind.RETRY, VerdictKind.NEXT})


def counterfactuals(
    snapshot: Snapshot, policies: Policy | Policies, task_id: TaskId, *, most_plans: int = MOST_PLANS
) -> tuple[WhatIf, ...]:
    """What would let the task start now or have nodes freed for it, each by one change.

    Of levels it is the lowest higher one, of nodes and GPUs the largest smaller number, as far as so many
    plans can tell; that each of them helps was always tried. Raises KeyError for a task that is not there.
    """
    search = _Search(snapshot, policies, task_id, most_plans)
    return tuple(search.run()) if search.task.state.waiting else ()


def applied(snapshot: Snapshot, task_id: TaskId, change: WhatIf) -> Snapshot:
    """The snapshot with the change made, as the service makes it."""
    task = next(task for task in snapshot.tasks if task.id == task_id)
    match change.kind:
        case ChangeKind.PRIORITY:
            return with_task(snapshot, replace(task, priority=change.priority, custom_rank=None))
        case ChangeKind.NODES:
            return with_task(snapshot, replace(task, nodes=change.nodes or task.nodes))
        case ChangeKind.GPUS:
            return with_task(snapshot, replace(task, gpus=change.gpus))
        case ChangeKind.LIMIT:
            row = Quota(
                subject=change.subject or "",
                group=task.group,
                priority=change.priority or Priority.LOW,
                limit=change.limit,
            )
            others = (q for q in snapshot.quotas if (q.subject, q.group, q.priority) != _key(row))
            return replace(snapshot, quotas=(*others, row))


def with_task(snapshot: Snapshot, task: Task) -> Snapshot:
    """The snapshot with the task as it is here, in place of the one with its id or beside the others."""
    return replace(snapshot, tasks=(*(other for other in snapshot.tasks if other.id != task.id), task))


def of_group(snapshot: Snapshot, group: str) -> Snapshot:
    """What concerns one node group: groups are planned apart (U3)."""
    return replace(
        snapshot,
        nodes=tuple(node for node in snapshot.nodes if node.group == group),
        tasks=tuple(task for task in snapshot.tasks if task.group == group),
        quotas=tuple(row for row in snapshot.quotas if row.group == group),
        uses=tuple(use for use in snapshot.uses if use.group == group),
    )


def _key(row: Quota) -> tuple[str, str, Priority]:
    return row.subject, row.group, row.priority


@dataclass(slots=True)
class _Search:
    """The search for one task, with the plans that it has left."""

    whole: Snapshot
    policies: Policy | Policies
    task_id: TaskId
    #: The first one shows how it is.
    left: int
    task: Task = field(init=False)
    snapshot: Snapshot = field(init=False)
    #: Nodes are being freed for it as it is.
    draining: bool = False
    #: Why it would wait with the change that was tried last.
    latest: Verdict | None = None
    _memory: Memory = field(default_factory=Memory, init=False)

    def __post_init__(self) -> None:
        found = {task.id: task for task in self.whole.tasks}
        self.task = found[self.task_id]
        self.snapshot = of_group(self.whole, self.task.group)

    def run(self) -> Iterator[WhatIf]:
        """All that was found: quota, level, nodes, GPUs."""
        verdict = self._plan(self.snapshot).verdicts.get(self.task_id)
        if verdict is None or verdict.kind in _ITS_OWN_WAY:
            return
        self.draining = verdict.kind is VerdictKind.DRAINING
        yield from self._quota(verdict)
        yield from self._level(verdict)
        if not self.draining:
            yield from self._nodes(verdict)
            yield from self._gpus()

    def _plan(self, snapshot: Snapshot) -> Plan:
        """The plan, as far as it concerns the task: those who wait below its level come after it (O1)."""
        self.left -= 1
        level = next(task.priority for task in snapshot.tasks if task.id == self.task_id)
        if level is not None:
            before = (task for task in snapshot.tasks if not _waits_below(task, level))
            snapshot = replace(snapshot, tasks=tuple(before))
        return plan(snapshot, self.policies, memory=self._memory)

    def _try(self, change: WhatIf, *, now_only: bool = False) -> WhatIf | None:
        """The change with what it would bring, or None if it would not help or no plan is left."""
        if self.left <= 0:
            return None
        made = self._plan(applied(self.snapshot, self.task_id, change))
        self.latest = made.verdicts.get(self.task_id)
        if any(isinstance(decision, Start) and decision.task_id == self.task_id for decision in made.decisions):
            return replace(change, starts_now=True)
        after = None if now_only else self.latest
        if after is None or after.kind is not VerdictKind.DRAINING or self.draining:
            return None
        deadline = after.data.get("deadline")
        return replace(
            change,
            starts_by=deadline if isinstance(deadline, datetime) else None,
            suspends=self._suspended(made),
        )

    def _suspended(self, made: Plan) -> tuple[Holder, ...]:
        ids = [d.task_id for d in made.decisions if isinstance(d, Suspend) and d.beneficiary == self.task_id]
        tasks = {task.id: task for task in self.snapshot.tasks}
        return tuple(_holder(tasks[task_id]) for task_id in ids)

    # -- quota ------------------------------------------------------------------------------------

    def _quota(self, verdict: Verdict) -> Iterator[WhatIf]:
        """The limit that would let it start: of the user's own row, or of the cap of the whole group (Q2)."""
        for _ in range(2):  # behind the row that forbids it there may be a part that is in use
            if verdict.kind is VerdictKind.NEVER and verdict.data.get("cause") not in ("group", "gpus"):
                subject, used = str(verdict.data["cause"]), 0.0
            elif verdict.kind is VerdictKind.QUOTA:
                subject, used = str(verdict.data["subject"]), _float(verdict.data["used"])
            else:
                return
            change = WhatIf(
                kind=ChangeKind.LIMIT,
                priority=verdict.priority,
                subject=subject if subject.startswith("total:") else f"user:{self.task.user}",
                limit=ceil(used + self._share() - 1e-9),
                starts_now=False,
            )
            found = self._try(change)
            if found is not None:
                yield found
                return
            if self.latest is None:
                return
            verdict = self.latest

    def _share(self) -> float:
        return share_of(self.task, max((node.gpus for node in self.snapshot.nodes), default=0))

    # -- level ------------------------------------------------------------------------------------

    def _level(self, verdict: Verdict) -> Iterator[WhatIf]:
        """The lowest higher level; where the quota of its level is in use, else the highest lower one."""
        if self.task.priority is None:
            return  # AUTO is at the highest level that has quota for it already (Q4)
        open_to_it = [level for level in sorted(Priority) if self._has_quota(level)]
        higher = [level for level in open_to_it if level > verdict.priority]
        found = self._lowest(higher)
        if found is None and verdict.kind in (VerdictKind.QUOTA, VerdictKind.NEVER):
            lower = [level for level in open_to_it if level < verdict.priority]
            tried = (self._at(level) for level in reversed(lower[-2:]))
            found = next((one for one in tried if one is not None), None)
        if found is not None:
            yield found

    def _has_quota(self, level: Priority) -> bool:
        """Whether some row could count for the user there; which of them does is for `plan` to say (Q1)."""
        names = self.snapshot.groups_of.get(self.task.user, frozenset())
        subjects = {"public", f"user:{self.task.user}", *(f"group:{name}" for name in names)}
        return any(
            row.priority is level and row.subject in subjects and (row.limit is None or row.limit >= self._share())
            for row in self.snapshot.quotas
        )

    def _at(self, level: Priority) -> WhatIf | None:
        return self._try(WhatIf(kind=ChangeKind.PRIORITY, priority=level, starts_now=False))

    def _lowest(self, levels: list[Priority]) -> WhatIf | None:
        """The lowest of the levels that helps: the lowest of all, or found between it and the highest."""
        if not levels:
            return None
        found = self._at(levels[0])
        if found is not None or len(levels) == 1:
            return found
        found = self._at(levels[-1])
        bad, good = 0, len(levels) - 1
        while found is not None and good - bad > 1 and self.left > 0:
            middle = (bad + good) // 2
            better = self._at(levels[middle])
            found, bad, good = (found, middle, good) if better is None else (better, bad, middle)
        return found

    # -- size -------------------------------------------------------------------------------------

    def _nodes(self, verdict: Verdict) -> Iterator[WhatIf]:
        def change(nodes: int) -> WhatIf:
            return WhatIf(kind=ChangeKind.NODES, nodes=nodes, starts_now=False)

        yield from self._largest(self._hint(verdict), self.task.nodes - 1, change, tries=4)

    def _hint(self, verdict: Verdict) -> int:
        """How many nodes the verdict itself says it could have now."""
        data = verdict.data
        if verdict.kind is VerdictKind.QUOTA:
            left = _float(data["limit"]) - _float(data["used"])
            return floor(left * self.task.nodes / self._share()) if self._share() > 0 else 0
        for name in ("together", "free", "cap"):
            if isinstance(data.get(name), int):
                return int(_float(data[name]))
        return self.task.nodes // 2

    def _gpus(self) -> Iterator[WhatIf]:
        def change(gpus: int) -> WhatIf:
            return WhatIf(kind=ChangeKind.GPUS, gpus=gpus, starts_now=False)

        if self.task.gpus is not None:
            yield from self._largest(self.task.gpus // 2, self.task.gpus - 1, change, tries=3)

    def _largest(self, hint: int, most: int, change: Callable[[int], WhatIf], *, tries: int) -> Iterator[WhatIf]:
        """The largest number up to `most` with which it would start now: at the hint, beside it, or between."""
        found: WhatIf | None = None
        good, bad = 0, most + 1
        for number in range(tries):
            if bad - good <= 1:
                break
            probe = (max(1, min(hint, most)), good + 1)[number] if number < 2 else (good + bad) // 2
            better = self._try(change(probe), now_only=True)
            if better is None:
                bad = probe
            else:
                found, good = better, probe
        if found is not None:
            yield found


def _waits_below(task: Task, level: Priority) -> bool:
    return task.state.waiting and task.priority is not None and task.priority < level and not task.promise


def _float(value: object) -> float:
    assert isinstance(value, int | float), f"{value!r} is no number"
    return float(value)


def _holder(task: Task) -> Holder:
    run = task.live_run
    assert run is not None, f"task {task.id} is told to leave but holds nothing"
    return Holder(
        task_id=task.id,
        name=task.name,
        user=task.user,
        priority=run.priority,
        nodes=len(run.nodes),
        gpus=task.gpus,
    )
