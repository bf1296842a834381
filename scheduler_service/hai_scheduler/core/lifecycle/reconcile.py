"""Turns what the cluster shows of a run into events. Level-triggered: it reads states, not changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hai_scheduler.core.lifecycle.events import (
    AskedToSuspend,
    Done,
    Event,
    Overdue,
    RanksSeen,
    Saved,
    Spoilt,
    StartFailed,
    StateKept,
)
from hai_scheduler.core.lifecycle.start_backoff import row_with
from hai_scheduler.core.model.observation import Observation, RankObservation
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Rank, RankState, Run
from hai_scheduler.core.model.task import Task


@dataclass(frozen=True, slots=True)
class Observed:
    """What an observation means for a task."""

    events: tuple[Event, ...]
    #: Whether to order the run again: the cluster has never shown some of its ranks, and they are still wanted.
    launch_again: bool = False


def reconcile(
    task: Task,
    observation: Observation | None,
    now: datetime,
    *,
    max_failed_starts: int,
    trouble: str | None = None,
    older: bool = False,
) -> Observed:
    """Return the events that bring a live task up to what the cluster shows of its run.

    Args:
        task: The task.
        observation: What the cluster shows of its run; None if the cluster shows nothing.
        now: The time.
        max_failed_starts: The task fails after this many starts in a row that came to nothing.
        trouble: Why ranks that the cluster does not show cannot be launched; None: no problem is known.
        older: Whether the run was decided before the database was restored, which may have lost a notice to the run.

    Returns:
        The events in the order in which they are applied, and whether to launch the run again.
    """
    run = task.live_run
    assert run is not None, f"task {task.id} has no live run"
    # Reports may be forged: ignore ranks that the run does not have.
    there = () if observation is None else observation.ranks
    shown = {rank.rank: rank for rank in there if rank.rank < len(run.ranks)}
    never = observation is not None and observation.killed
    ranks = tuple(_merge(rank, shown.get(rank.rank), run, trouble, never=never) for rank in run.ranks)
    events: list[Event] = _said(task, run, shown, now)
    if all(rank.state.gone for rank in ranks) and any(rank.unstarted for rank in ranks):
        last = task.failed_starts + 1 >= max_failed_starts
        return Observed((*events, _start_failed(ranks, now, last=last)))
    taken = _taken_away(run, shown, ranks, now)
    if taken is None and (never or (older and any(rank.signalled or rank.notified_at for rank in ranks))):
        taken = _told_in_the_past(run, now, ended=never)
    if taken is not None:
        # This event comes first, so that ranks which end because of it count neither as failed nor as yielded.
        events.insert(0, taken)
    if ranks != run.ranks:
        events.append(RanksSeen(at=now, ranks=ranks, give_up=row_with(task, now) >= max_failed_starts))
    if taken is not None or all(rank.state.gone for rank in ranks):
        return Observed(tuple(events))
    missing = any(rank.state is RankState.PENDING and rank.rank not in shown for rank in ranks)
    # The run was told to leave before all its ranks were up: no command has begun, so that there is nothing to save.
    begins = run.running_at is None and any(rank.state is RankState.PENDING for rank in ranks)
    if run.notice is not None and run.killed_at is None and (begins or now >= run.notice.deadline):
        events.append(Overdue(at=now))
    return Observed(tuple(events), launch_again=missing and run.notice is None and run.killed_at is None)


def _told_in_the_past(run: Run, now: datetime, *, ended: bool) -> AskedToSuspend | None:
    """Return an event that tells a run to leave, as the lost part of the history did; None: not needed.

    `ended`: the cluster has the order to end the run, so that it gets no time to save.
    """
    if run.notice is not None or run.killed_at is not None:
        return None
    nothing = timedelta(0)
    return AskedToSuspend(at=now, reason=Reason.RESTORED, at_most=nothing if ended else None, limit=nothing)


def _start_failed(ranks: tuple[Rank, ...], now: datetime, *, last: bool) -> StartFailed:
    unstarted = [rank for rank in ranks if rank.unstarted]
    crowded = all(rank.crowded for rank in unstarted)
    return StartFailed(
        at=now,
        message=next((rank.message for rank in unstarted if rank.message), ""),
        nodes=frozenset(rank.node for rank in unstarted if rank.unstarted is Blame.NODE),
        doubtful=frozenset(rank.node for rank in unstarted if rank.unstarted is Blame.UNKNOWN),
        crowded=crowded,
        give_up=last and not crowded,
    )


def _taken_away(
    run: Run, shown: dict[int, RankObservation], ranks: tuple[Rank, ...], now: datetime
) -> AskedToSuspend | None:
    """Return an event if the cluster ends, or has ended, a rank; None if not, or if the run leaves anyway."""
    if run.notice is not None or run.killed_at is not None:
        return None
    times = list(_leaving_times(run, shown))
    if not times:
        return None
    if all(rank.state.gone for rank in ranks):
        return AskedToSuspend(at=now, reason=Reason.EVICTED)
    left = max(timedelta(0), min(times) - now)
    return AskedToSuspend(at=now, reason=Reason.EVICTED, at_most=left, limit=left)


def _leaving_times(run: Run, shown: dict[int, RankObservation]) -> Iterator[datetime]:
    for seen in shown.values():
        if seen.leaving_by is not None and not run.ranks[seen.rank].state.gone:
            yield seen.leaving_by


def _said(task: Task, run: Run, shown: dict[int, RankObservation], now: datetime) -> list[Event]:
    """Return what the job has reported and the service has not recorded: reports may be lost when the service ends."""
    events: list[Event] = []
    spoilt = _spoilt(run, shown, now)
    events += [spoilt] if spoilt is not None else []
    is_spoilt = any(rank.spoilt for rank in shown.values())
    for rank in shown.values():
        newest = run.checkpoint.at if run.checkpoint else None
        if rank.checkpoint is not None and (newest is None or rank.checkpoint.at > newest) and not is_spoilt:
            run = replace(run, checkpoint=rank.checkpoint)
            events.append(Saved(at=now, checkpoint=rank.checkpoint))
        if rank.rank == 0 and rank.job_state is not None and rank.job_state != task.job_state:
            events.append(StateKept(at=now, text=rank.job_state))
        if rank.done and not run.ranks[rank.rank].done:
            events.append(Done(at=now, rank=None if rank.done_all else rank.rank))
    return events


def _spoilt(run: Run, shown: dict[int, RankObservation], now: datetime) -> Spoilt | None:
    """Return an event if a rank has spoilt the checkpoint of the run; all ranks need it, so the oldest left counts."""
    left = [rank.checkpoint for rank in shown.values() if rank.spoilt]
    if not left:
        return None
    oldest = None if None in left else min((one for one in left if one is not None), key=lambda one: one.at)
    known = run.checkpoint
    if oldest == known or (oldest is not None and known is not None and oldest.at >= known.at):
        return None
    return Spoilt(at=now, checkpoint=oldest)


def _merge(rank: Rank, shown: RankObservation | None, run: Run, trouble: str | None, *, never: bool) -> Rank:
    """Return the rank updated by what is shown; `never`: a rank that is not shown will never be started."""
    if rank.state.gone:
        return rank
    if shown is not None:
        shown = _believed(rank, shown, run)
        return replace(
            rank,
            state=shown.state,
            exit_code=shown.exit_code,
            signal=shown.signal,
            ended_at=shown.ended_at,
            notified_at=rank.notified_at or shown.notified_at,
            signalled=shown.signalled,
            caught=shown.caught,
            done=rank.done or shown.done or shown.done_all,
            watched=shown.watched if rank.watched is None else rank.watched,
            message=shown.start_error or shown.message,
            unstarted=shown.blame if shown.start_error is not None else None,
            crowded=shown.crowded and shown.start_error is not None,
            supervisor_killed=shown.state is RankState.LOST and shown.supervisor_killed,
            # A rank that goes on uses more each time: a task is not written for that.
            summary=shown.summary if shown.state.gone else None,
        )
    if rank.state is RankState.RUNNING:
        return replace(rank, state=RankState.LOST, message="its node no longer knows of it")
    if run.killed_at is not None and never:
        # Only once the cluster has the order: before that another replica may still start the rank (decision 0013).
        return replace(rank, state=RankState.EXITED, message="it was never started")
    return replace(rank, message=trouble)


def _believed(rank: Rank, shown: RankObservation, run: Run) -> RankObservation:
    """Return what is shown, without a failed start of a rank that has run or whose run was told to leave before.

    Clusters forget: a node that comes back may report that a rank which ran on it was never started.
    """
    if shown.start_error is None:
        return shown
    ended = replace(shown, start_error=None, message=shown.start_error)
    if _told_to_leave(run):
        return ended
    if run.running_at is None and rank.state is not RankState.RUNNING:
        return shown
    return ended if run.killed_at is not None else replace(ended, state=RankState.LOST)


def _told_to_leave(run: Run) -> bool:
    """Whether the run leaves because of a notice, and not because its gang was no longer whole."""
    return run.notice is not None and (run.killed_at is None or run.killed_at >= run.notice.at)
