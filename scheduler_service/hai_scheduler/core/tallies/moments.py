"""What a change of a task adds to the tallies: a turn that begins, ranks that are up, a run that ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.tallies.families import NOTICE, RUNS_ENDED, START, WAIT
from hai_scheduler.core.tallies.tallies import Tallies


@dataclass(frozen=True, slots=True)
class Nodes:
    """What must be known of nodes to count by them: the number of GPUs of each, by name."""

    gpus: Mapping[str, int]

    def share(self, rank: Rank) -> float:
        """Return which part of its node a rank holds: 1 for a whole node (U2)."""
        there = self.gpus.get(rank.node, 0)
        return 1.0 if not rank.gpus or there <= 0 else min(1.0, len(rank.gpus) / there)


def count(tallies: Tallies, before: Task, after: Task, group: str) -> None:
    """Count what has happened to a task's run from `before` to `after`; `group` is the label of its node group."""
    run = after.run
    if run is None:
        return
    old = before.run if before.run is not None and before.run.id == run.id else None
    if old is None:
        waited = run.started_at - before.waiting_since
        tallies.observe(WAIT, (group, run.priority.name), waited.total_seconds())
    if run.running_at is not None and (old is None or old.running_at is None):
        tallies.observe(START, (group,), (run.running_at - run.started_at).total_seconds())
    if run.ended_at is not None and (old is None or old.live):
        reason = run.reason or Reason.FAILED
        tallies.add(RUNS_ENDED, (group, reason.value, "true" if is_clean(run) else "false"), 1)
        if run.notice is not None:
            gone = run.ended_at - run.notice.at
            tallies.observe(NOTICE, (after.profile.value, _outcome(run)), gone.total_seconds())


def lost_node_seconds(before: Task, after: Task, nodes: Nodes) -> float:
    """Return the node seconds that had been useful and turn out to be lost, if the run has ended by this change.

    They are those between the last checkpoint, or the start, and the notice or the end: the time from the notice on is
    overhead anyway.
    """
    run = after.run
    if run is None or run.lost is None or run.ended_at is None or run.running_at is None or not run.ranks:
        return 0.0
    if before.run is not None and before.run.id == run.id and not before.run.live:
        return 0.0
    since = run.ended_at - run.lost / len(run.ranks)
    lost = max(timedelta(0), (leaves_at(run) or run.ended_at) - since).total_seconds()
    return lost * sum(nodes.share(rank) for rank in run.ranks)


def leaves_at(run: Run) -> datetime | None:
    """Return since when a run is leaving: from its notice, or from the order to end it; None: it stays."""
    told = [at for at in (None if run.notice is None else run.notice.at, run.killed_at) if at is not None]
    return min(told, default=None)


def is_clean(run: Run) -> bool:
    """Whether a run was not cut off: its command ended by itself, or it left in time after its notice."""
    return run.left is not Left.ENDED and not (run.reason is not None and run.reason.unplanned)


def _outcome(run: Run) -> str:
    """How a run with a notice left; `finished` and `failed`: its command ended for a reason of its own."""
    if run.left is not None:
        return run.left.value
    return "finished" if run.reason is Reason.SUCCEEDED else "failed"
