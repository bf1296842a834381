"""Whose turn ends for whom (rules P1 to P5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.core.ledger import Ledger
from hai_scheduler.core.model import Priority, Run, Task, TaskId
from hai_scheduler.core.policy import Policy
from hai_scheduler.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Victim:
    """A running task that may be suspended for another, and which of its nodes that one could use."""

    task: Task
    run: Run
    usable: tuple[str, ...]
    #: PREEMPTED (P1) or TURN_OVER (P2).
    reason: Reason


def turn_ends(run: Run, policy: Policy) -> datetime:
    """From when an equal may have the nodes of this run (P2)."""
    return run.turn_start + max(policy.min_run, policy.slice)


def reason_to_suspend(
    running: Task, run: Run, waiting: Task, priority: Priority, policy: Policy, now: datetime
) -> Reason | None:
    """Why `running` may be suspended for `waiting` at that effective priority, or None (P1, P2, P3)."""
    if run.notice is not None or _just_made_room(running, run, waiting, policy, now):
        return None
    if run.priority < priority:
        return Reason.PREEMPTED
    if run.priority > priority or running.user == waiting.user:
        return None
    return Reason.TURN_OVER if now >= turn_ends(run, policy) else None


def _just_made_room(running: Task, run: Run, waiting: Task, policy: Policy, now: datetime) -> bool:
    """P5: a victim does not take its beneficiary's nodes back before the beneficiary's `min_run`.

    It could otherwise: an AUTO task may wait at a higher level than it ran at.
    """
    return waiting.left_for == running.id and now < run.turn_start + policy.min_run


def work_lost(run: Run, now: datetime) -> timedelta:
    """Running time that would have to be done again: since the last checkpoint of the run, or all of it."""
    if run.running_at is None:
        return timedelta(0)
    since = run.running_at if run.checkpoint is None else max(run.running_at, run.checkpoint.at)
    return max(timedelta(0), now - since)


def candidates(
    live: Iterable[Task], waiting: Task, priority: Priority, ledger: Ledger, policy: Policy, now: datetime
) -> list[Victim]:
    """Every task that may be suspended for the waiting one, in no order."""
    found = []
    for task in live:
        run = task.live_run
        if run is None or task.group != waiting.group:
            continue
        reason = reason_to_suspend(task, run, waiting, priority, policy, now)
        usable = ledger.usable(waiting, run.nodes) if reason is not None else []
        if reason is not None and usable:
            found.append(Victim(task, run, tuple(usable), reason))
    return found


def choose_victims(able: Sequence[Victim], need: int, now: datetime) -> tuple[Victim, ...] | None:
    """The victims whose leaving frees at least `need` usable nodes with least harm, or None (P4).

    Harm, least first: effective priority; work lost; nodes beyond the need; the later start; id. Victims
    are taken in that order until the need is met; then, most harm first, those that were not needed after
    all are let off, so that nobody is suspended for nothing.
    """

    def harm(victim: Victim) -> tuple[int, timedelta, int, float, TaskId]:
        beyond = max(0, len(victim.run.nodes) - need)
        return (
            victim.run.priority,
            work_lost(victim.run, now),
            beyond,
            -victim.run.started_at.timestamp(),
            victim.task.id,
        )

    chosen: list[Victim] = []
    got = 0
    for victim in sorted(able, key=harm):
        if got >= need:
            break
        chosen.append(victim)
        got += len(victim.usable)
    if got < need:
        return None
    for victim in sorted(chosen, key=harm, reverse=True):
        if got - len(victim.usable) >= need:
            chosen.remove(victim)
            got -= len(victim.usable)
    return tuple(sorted(chosen, key=harm))
