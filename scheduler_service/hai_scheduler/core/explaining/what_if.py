"""Changes that would let a waiting task start. Each is tried with `plan` itself, so it is true by construction."""

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
from hai_scheduler.core.ordering.usage import share_of
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.core.planning.plan_cache import PlanCache

#: How often one explanation calls `plan` at most.
MOST_PLANS = 8

#: Kinds of waiting that no change of the task would shorten.
_ITS_OWN_WAY = frozenset({VerdictKind.HELD, VerdictKind.PAUSED, VerdictKind.RETRY, VerdictKind.NEXT})


def counterfactuals(
    snapshot: Snapshot, policies: Policy | Policies, task_id: TaskId, *, most_plans: int = MOST_PLANS
) -> tuple[WhatIf, ...]:
    """Return single changes with which the task would start now or have nodes freed for it.

    They are the lowest higher priority, and the largest smaller number of nodes and of GPUs, as far as `most_plans`
    plans can find them. Every change that is returned has been tried.

    Args:
        snapshot: The cluster and the queue.
        policies: The policy numbers.
        task_id: The waiting task.
        most_plans: How many plans the search may make.

    Raises:
        KeyError: The snapshot has no such task.
    """
    search = _Search(snapshot, policies, task_id, most_plans)
    return tuple(search.run()) if search.task.state.waiting else ()


def applied(snapshot: Snapshot, task_id: TaskId, change: WhatIf) -> Snapshot:
    """Return the snapshot with the change applied, as the service would apply it."""
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
    """Return the snapshot with this task, in place of the task with its id if there is one."""
    return replace(snapshot, tasks=(*(other for other in snapshot.tasks if other.id != task.id), task))


def of_group(snapshot: Snapshot, group: str) -> Snapshot:
    """Return the part of the snapshot that concerns one node group: each group is planned on its own (U3)."""
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
    """The search for one task, and how many plans it may still make."""

    whole: Snapshot
    policies: Policy | Policies
    task_id: TaskId
    #: How many plans are left; the first plan shows why the task waits now.
    left: int
    task: Task = field(init=False)
    snapshot: Snapshot = field(init=False)
    #: Whether nodes are being freed for the task without any change.
    draining: bool = False
    #: Why the task would wait with the change that was tried last.
    latest: Verdict | None = None
    _cache: PlanCache = field(default_factory=PlanCache, init=False)

    def __post_init__(self) -> None:
        found = {task.id: task for task in self.whole.tasks}
        self.task = found[self.task_id]
        self.snapshot = of_group(self.whole, self.task.group)

    def run(self) -> Iterator[WhatIf]:
        """Yield the changes that help: quota, priority, nodes, GPUs."""
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
        """Make a plan without the tasks that wait at lower priorities, which come after the task (O1)."""
        self.left -= 1
        level = next(task.priority for task in snapshot.tasks if task.id == self.task_id)
        if level is not None:
            before = (task for task in snapshot.tasks if not _waits_below(task, level))
            snapshot = replace(snapshot, tasks=tuple(before))
        return plan(snapshot, self.policies, cache=self._cache)

    def _try(self, change: WhatIf, *, now_only: bool = False) -> WhatIf | None:
        """Return the change with its effect, or None if it would not help or no plan is left."""
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
        """Yield the limit that would let it start, of the user's own row or of the cap on the whole group (Q2)."""
        for _ in range(2):  # once the limit is high enough for the task, part of the quota may be in use
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
        """Yield the lowest higher priority that helps; if none does and quota is the cause, the highest lower one."""
        if self.task.priority is None:
            return  # an AUTO task is already at the highest priority that has quota for it (Q4)
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
        """Whether any row of quota could allow the task at the priority; `plan` decides which row counts (Q1)."""
        names = self.snapshot.groups_of.get(self.task.user, frozenset())
        subjects = {"public", f"user:{self.task.user}", *(f"group:{name}" for name in names)}
        return any(
            row.priority is level and row.subject in subjects and (row.limit is None or row.limit >= self._share())
            for row in self.snapshot.quotas
        )

    def _at(self, level: Priority) -> WhatIf | None:
        return self._try(WhatIf(kind=ChangeKind.PRIORITY, priority=level, starts_now=False))

    def _lowest(self, levels: list[Priority]) -> WhatIf | None:
        """Return the change to the lowest of the priorities that helps, found by bisection, or None."""
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
        """Return how many nodes the task could have now, by its verdict."""
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
        """Yield the change to the largest number up to `most` with which the task would start now, if one is found.

        The search tries the hint, the next number, and then bisects, `tries` times at most.
        """
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
    return Holder.of(task, run.priority, len(run.nodes))
