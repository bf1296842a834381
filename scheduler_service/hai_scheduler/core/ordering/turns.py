"""Turns: when a running task may be told to leave (rules O2, O4, P2, P6, P7, P8, I1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.core.lifecycle.run_outcome import work_lost
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.order import level_at
from hai_scheduler.core.ordering.usage import share_of

_HOUR = timedelta(hours=1)


@dataclass(slots=True, eq=False)
class TurnFacts:
    """The facts of a turn that do not change with time. A span is kept from plan to plan, and never changes."""

    task: Task
    run: Run
    nodes: tuple[str, ...]
    #: How many nodes the turn holds, parts of nodes as fractions (U2); whether they lie in several zones (F2).
    share: float
    crosses: bool
    #: From when the turn may end for an equal of a lower level, and for any equal (P2, P6; in a `Turn` also P7).
    earliest_end: datetime
    slice_at: datetime
    #: When the turn ends by the time limit of its task; None without one.
    ends_at: datetime | None
    #: From when the turn counts as NORMAL; None: it keeps its priority (O4).
    demoted_at: datetime | None
    #: Until when the turn is protected from equals because the task left for equals too often; None: it is not (P7).
    protected_until: datetime | None
    #: Whether the turn ends for no equal until the task saves: it was interrupted too often without a save (P8).
    kept: bool
    #: From when the turn may end for any equal because all its GPUs are idle; None: they are not, or may be (I1).
    idle_at: datetime | None
    #: Whether the run was told to leave or is being ended; in a `Turn` also whether this plan tells it to leave.
    leaving: bool


@dataclass(slots=True, eq=False)
class Turn(TurnFacts):
    """A running task, as a plan sees it at one moment."""

    #: The effective priority (O4).
    priority: Priority

    @property
    def whole(self) -> bool:
        """Whether the task holds whole nodes (U2)."""
        return self.task.gpus is None

    def level(self, policy: Policy, now: datetime) -> int:
        """Return the task's level of the feedback queue (O2)."""
        begun = self.run.running_at
        return level_at(self.task.served if begun is None else self.task.served + (now - begun), policy)

    def lost(self, now: datetime) -> float:
        """Return the node-seconds that a suspension would cost: work since the last checkpoint, and a switch (P4)."""
        return self.share * (work_lost(self.run, now) + self.task.switch_cost).total_seconds()

    def idle(self, now: datetime) -> bool:
        """Whether the turn may end for any equal because its GPUs are idle (I1)."""
        return self.idle_at is not None and self.idle_at <= now

    def free_at(self, level: int, policy: Policy) -> datetime | None:
        """Return from when an equal waiting at that level may have the nodes (P2, I1); None: not before a save (P8)."""
        if self.kept:
            return self.idle_at
        free_at = self._served_at(level, policy)
        return free_at if self.idle_at is None else min(free_at, self.idle_at)

    def _served_at(self, level: int, policy: Policy) -> datetime:
        if level >= 2:
            return self.slice_at
        service = policy.slice if level == 0 else policy.long_after
        begun = self.run.running_at or self.run.started_at
        rises = begun + (service - self.task.served) if service > self.task.served else begun
        earliest = max(rises, self.earliest_end)
        return min(earliest, self.slice_at)


def facts_of(task: Task, run: Run, policy: Policy, node_group: NodeGroup) -> TurnFacts:
    """Return the span of the task's turn, which is this run."""
    start, limit, nodes = run.turn_start, task.time_limit, run.nodes
    least, length = _lengths(task, policy)
    return TurnFacts(
        task,
        run,
        nodes,
        share=share_of(task, node_group.gpus_per_node),
        crosses=node_group.spans_zones(nodes),
        earliest_end=start + least,
        slice_at=start + length,
        ends_at=None if limit is None else start + (limit - task.served),
        demoted_at=start + policy.demote_after if run.priority is Priority.ABOVE_NORMAL else None,
        protected_until=protected_until(task, policy) if task.rotations else None,
        kept=keeps(task, policy),
        idle_at=_idle_at(task, run, policy),
        leaving=run.notice is not None or run.killed_at is not None,
    )


def _idle_at(task: Task, run: Run, policy: Policy) -> datetime | None:
    if policy.idle_action != "yield" or task.state is not TaskState.RUNNING:
        return None
    latest: datetime | None = None
    for rank in run.ranks:
        if rank.idle_gpus_since is None:
            return None
        latest = rank.idle_gpus_since if latest is None else max(latest, rank.idle_gpus_since)
    return None if latest is None else latest + policy.idle_after


def _lengths(task: Task, policy: Policy) -> tuple[timedelta, timedelta]:
    """Return how long a turn of the task lasts at least for an equal of a lower level, and for any equal (P2, P6)."""
    least = policy.min_run
    length = policy.slice if task.served < policy.slice else slice_of(task, policy)
    if task.leaving_took is not None or task.starting_took is not None:
        least = max(least, policy.min_run_per_switch * task.switch_cost)
        length = max(least, length)
    return least, length


def slice_left(task: Task, run: Run, policy: Policy, now: datetime) -> timedelta | None:
    """Return how long the task's turn, which is this run, ends for no equal; zero: it may end; None: not known (P8)."""
    if keeps(task, policy):
        return None
    end = run.turn_start + _lengths(task, policy)[1]
    protected = protected_until(task, policy) if task.rotations else None
    if protected is not None and protected > now:
        end = max(end, protected)
    return max(timedelta(0), end - now)


def turn_at(facts: TurnFacts, now: datetime) -> Turn:
    """Return the turn at a moment."""
    priority, protected = facts.run.priority, facts.protected_until
    if facts.demoted_at is not None and now >= facts.demoted_at:
        priority = Priority.NORMAL
    earliest_end, slice_at = facts.earliest_end, facts.slice_at
    if protected is not None and protected > now:
        earliest_end, slice_at = max(earliest_end, protected), max(slice_at, protected)
    return Turn(
        facts.task,
        facts.run,
        facts.nodes,
        facts.share,
        facts.crosses,
        earliest_end,
        slice_at,
        facts.ends_at,
        facts.demoted_at,
        protected,
        facts.kept,
        facts.idle_at,
        facts.leaving,
        priority,
    )


def slice_of(task: Task, policy: Policy) -> timedelta:
    """Return how long a turn that begins now may last before any equal may have the nodes (P2).

    The slice grows with the level: tasks with much service rotate less often.
    """
    level = level_at(task.served, policy)
    return policy.slice * policy.slice_growth**level if level else policy.slice


def protected_until(task: Task, policy: Policy) -> datetime | None:
    """Return until when a task keeps its turn because it left for equals too often (P7); None: it did not."""
    if len(task.rotations) < policy.max_rotations:
        return None
    recent = task.rotations[-policy.max_rotations :]
    return recent[-1] + _HOUR if recent[-1] - recent[0] <= _HOUR else None


def keeps(task: Task, policy: Policy) -> bool:
    """Whether a turn of the task ends for no equal, because it was interrupted too often without a checkpoint (P8)."""
    return 0 < policy.max_unsaved <= task.unsaved
