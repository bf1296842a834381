"""Whose turn ends because its GPUs are idle (I1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from hai_scheduler.core.lifecycle.events import AskedToSuspend
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState


def idle_turns(
    live: Iterable[Task], tasks: Iterable[Task], policies: Policies, now: datetime
) -> Iterator[tuple[Task, AskedToSuspend]]:
    """The running tasks whose turn ends because no GPU of theirs works (I1), with the event that ends it.

    All ranks must be idle for `idle_after`, and a task must wait that could be given the nodes: one of the same node
    group and of at least the same priority. Nothing is won else.

    Args:
        live: The tasks that hold nodes.
        tasks: All unfinished tasks.
        policies: The policy numbers.
        now: The time.
    """
    if all(policy.idle_action != "yield" for policy in (policies.default, *policies.groups.values())):
        return
    for task in list(live):
        policy = policies.of(task.group)
        run = task.live_run
        if policy.idle_action != "yield" or run is None or run.notice is not None:
            continue
        if task.state is not TaskState.RUNNING:
            continue
        since = [rank.idle_gpus_since for rank in run.ranks]
        latest = max((one for one in since if one is not None), default=now)
        if None in since or now - latest < policy.idle_after:
            continue
        if any(_could_follow(other, task, now) for other in tasks):
            yield task, AskedToSuspend(at=now, reason=Reason.GPUS_IDLE, limit=policy.max_grace)


def _could_follow(other: Task, task: Task, now: datetime) -> bool:
    if not other.state.waiting or other.held or other.group != task.group:
        return False
    if other.not_before is not None and other.not_before > now:
        return False
    mine = task.live_run.priority if task.live_run is not None else task.priority
    # A task without a level of its own gets the highest one that its quota allows.
    return other.priority is None or mine is None or other.priority >= mine
