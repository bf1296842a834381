"""From what the cluster shows to events: low-level facts in, causes out. Level-triggered: only states are read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hai_scheduler.core.events import AskedToSuspend, Done, Event, Overdue, RanksSeen, Saved, StartFailed, StateKept
from hai_scheduler.core.model import Observation, Rank, RankObservation, RankState, Run, Task
from hai_scheduler.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Seen:
    """What an observation means for a task."""

    events: tuple[Event, ...]
    #: Ranks of the run have never been seen and are still wanted: order the run again.
    launch_again: bool = False


def read(task: Task, observation: Observation | None, now: datetime, *, max_failed_starts: int) -> Seen:
    """The events that bring a live task up to what the cluster shows of its run."""
    run = task.live_run
    assert run is not None, f"task {task.id} has no live run"
    shown = {} if observation is None else {rank.rank: rank for rank in observation.ranks}
    ranks = tuple(_merge(rank, shown.get(rank.rank), run) for rank in run.ranks)
    missing = any(rank.state is RankState.PENDING and rank.rank not in shown for rank in ranks)
    events: list[Event] = _said(task, run, shown, now)
    errors = [(run.ranks[o.rank].node, o.start_error) for o in shown.values() if o.start_error]
    if errors and all(rank.state.gone for rank in ranks):
        events.append(
            StartFailed(
                at=now,
                message=errors[0][1] or "",
                nodes=frozenset(node for node, _ in errors),
                give_up=task.failed_starts + 1 >= max_failed_starts,
            )
        )
        return Seen(tuple(events))
    if ranks != run.ranks:
        events.append(RanksSeen(at=now, ranks=ranks))
    if all(rank.state.gone for rank in ranks):
        return Seen(tuple(events))
    taken = [rank.leaving_by for rank in shown.values() if rank.leaving_by is not None and not rank.state.gone]
    if taken and run.notice is None and run.killed_at is None:
        left = max(timedelta(0), min(taken) - now)
        events.append(AskedToSuspend(at=now, reason=Reason.EVICTED, at_most=left, limit=left))
        return Seen(tuple(events))
    if missing and run.notice is not None and run.killed_at is None:
        # It was told to leave before all of it was there: what is there ends, the rest never starts.
        events.append(Overdue(at=now))
    elif run.notice is not None and run.killed_at is None and now >= run.notice.deadline:
        events.append(Overdue(at=now))
    return Seen(tuple(events), launch_again=missing and run.notice is None and run.killed_at is None)


def _said(task: Task, run: Run, shown: dict[int, RankObservation], now: datetime) -> list[Event]:
    """What the job said that the service has not heard yet: reports may have been lost with the service."""
    events: list[Event] = []
    for rank in shown.values():
        newest = run.checkpoint.at if run.checkpoint else None
        if rank.checkpoint is not None and (newest is None or rank.checkpoint.at > newest):
            run = replace(run, checkpoint=rank.checkpoint)
            events.append(Saved(at=now, checkpoint=rank.checkpoint))
        if rank.rank == 0 and rank.job_state is not None and rank.job_state != task.job_state:
            events.append(StateKept(at=now, text=rank.job_state))
        if rank.done and not run.ranks[rank.rank].done:
            events.append(Done(at=now, rank=None if rank.done_all else rank.rank))
    return events


def _merge(rank: Rank, shown: RankObservation | None, run: Run) -> Rank:
    if rank.state.gone:
        return rank
    if shown is not None:
        return replace(
            rank,
            state=shown.state,
            exit_code=shown.exit_code,
            notified_at=rank.notified_at or shown.notified_at,
            done=rank.done or shown.done or shown.done_all,
            message=shown.start_error or shown.message or rank.message,
        )
    if rank.state is RankState.RUNNING:
        return replace(rank, state=RankState.LOST, message="its node no longer knows of it")
    if run.killed_at is not None:
        return replace(rank, state=RankState.EXITED, message="it was never started")
    return rank
