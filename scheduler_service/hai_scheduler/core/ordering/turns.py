"""What a running task may be asked, and when (rules O2, O4, P2, P6, P7, P8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.floor import Floor
from hai_scheduler.core.ordering.order import level_at
from hai_scheduler.core.ordering.use import share_of

_HOUR = timedelta(hours=1)


@dataclass(slots=True, eq=False)
class Span:
    """What of a turn the moment does not change. It is kept from plan to plan, and never changed itself."""

    task: Task
    run: Run
    nodes: tuple[str, ...]
    #: How many nodes' worth it holds (U2), and whether they lie in several zones (F2).
    share: float
    crosses: bool
    #: From when it may leave for an equal of a lower level, and for any equal (P2, P6; of a turn also P7).
    floor_at: datetime
    slice_at: datetime
    #: When it ends by its time limit; None without one.
    ends_at: datetime | None
    #: From when it counts as NORMAL; None: it stays what it is (O4).
    demoted_at: datetime | None
    #: Until when it leaves for no equal, having left for them too often; None: it has not (P7).
    protected_until: datetime | None
    #: It leaves for no equal until it has saved, having been interrupted too often without (P8).
    kept: bool
    #: It has been told to leave, of a turn also by this plan, or is being ended, for example because a rank was lost.
    leaving: bool


@dataclass(slots=True, eq=False)
class Turn(Span):
    """A running task as a plan sees it."""

    #: What it counts as now (O4).
    priority: Priority

    @property
    def whole(self) -> bool:
        """Whether it holds whole nodes (U2)."""
        return self.task.gpus is None

    def level(self, policy: Policy, now: datetime) -> int:
        """Its level of the feedback queue (O2)."""
        begun = self.run.running_at
        return level_at(self.task.served if begun is None else self.task.served + (now - begun), policy)

    def lost(self, now: datetime) -> float:
        """Node seconds that its suspension would cost: work since the last checkpoint, and a switch (P4)."""
        return self.share * (work_lost(self.run, now) + self.task.switch_cost).total_seconds()

    def free_at(self, level: int, policy: Policy) -> datetime | None:
        """From when an equal that waits at that level may have its nodes (P2); None: not before it has saved (P8)."""
        if self.kept:
            return None
        if level >= 2:
            return self.slice_at
        service = policy.slice if level == 0 else policy.long_after
        begun = self.run.running_at or self.run.started_at
        rises = begun + (service - self.task.served) if service > self.task.served else begun
        earliest = max(rises, self.floor_at)
        return min(earliest, self.slice_at)


def span_of(task: Task, run: Run, policy: Policy, floor: Floor) -> Span:
    """The turn that the run is to its task."""
    start, limit, nodes = run.turn_start, task.time_limit, run.nodes
    least = policy.min_run
    length = policy.slice if task.served < policy.slice else slice_of(task, policy)
    if task.leaving_took is not None or task.starting_took is not None:
        least = max(least, policy.worth * task.switch_cost)
        length = max(least, length)
    return Span(
        task,
        run,
        nodes,
        share=share_of(task, floor.gpus_per_node),
        crosses=floor.spans_zones(nodes),
        floor_at=start + least,
        slice_at=start + length,
        ends_at=None if limit is None else start + (limit - task.served),
        demoted_at=start + policy.demote_after if run.priority is Priority.ABOVE_NORMAL else None,
        protected_until=protected_until(task, policy) if task.rotations else None,
        kept=keeps(task, policy),
        leaving=run.notice is not None or run.killed_at is not None,
    )


def turn_at(span: Span, now: datetime) -> Turn:
    """The turn as it is at a moment."""
    priority, protected = span.run.priority, span.protected_until
    if span.demoted_at is not None and now >= span.demoted_at:
        priority = Priority.NORMAL
    floor_at, slice_at = span.floor_at, span.slice_at
    if protected is not None and protected > now:
        floor_at, slice_at = max(floor_at, protected), max(slice_at, protected)
    return Turn(
        span.task,
        span.run,
        span.nodes,
        span.share,
        span.crosses,
        floor_at,
        slice_at,
        span.ends_at,
        span.demoted_at,
        protected,
        span.kept,
        span.leaving,
        priority,
    )


def slice_of(task: Task, policy: Policy) -> timedelta:
    """How long a turn that begins now may last before any equal may have the nodes (P2): longer at lower levels."""
    level = level_at(task.served, policy)
    return policy.slice * policy.slice_growth**level if level else policy.slice


def protected_until(task: Task, policy: Policy) -> datetime | None:
    """Until when a task that was told to leave for equals too often keeps its turn (P7); None: it was not."""
    if len(task.rotations) < policy.max_rotations:
        return None
    recent = task.rotations[-policy.max_rotations :]
    return recent[-1] + _HOUR if recent[-1] - recent[0] <= _HOUR else None


def keeps(task: Task, policy: Policy) -> bool:
    """Whether a turn of the task ends for no equal: interrupted too often, it has shown no checkpoint since (P8)."""
    return 0 < policy.max_unsaved <= task.unsaved


def work_lost(run: Run, now: datetime) -> timedelta:
    """Running time that would have to be done again: since the last checkpoint of the run, or all of it."""
    if run.running_at is None:
        return timedelta(0)
    since = run.running_at if run.checkpoint is None else max(run.running_at, run.checkpoint.at)
    return max(timedelta(0), now - since)
