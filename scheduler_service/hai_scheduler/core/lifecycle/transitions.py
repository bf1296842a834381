"""The states of a task as a table: `advance(task, event) -> (task, effects)`.

Every pair of state and event is in `TRANSITIONS` or raises `InvalidTransition`; a test walks them all.
`run_outcome` says how a run has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, TypeVar

from hai_scheduler.core.lifecycle.events import (
    AskedToStop,
    AskedToSuspend,
    Done,
    Event,
    FellBack,
    GpusIdle,
    Held,
    NoticeReceived,
    Overdue,
    Promised,
    RanksSeen,
    Released,
    Saved,
    Saving,
    Spoilt,
    Started,
    StartFailed,
    StateKept,
    TimeSkipped,
)
from hai_scheduler.core.lifecycle.run_outcome import RunOutcome, lost_work, outcome_of, unsaved_after
from hai_scheduler.core.lifecycle.start_backoff import CROWDED_WAIT, doubled, row_with, wait_after
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.leaving import Profile, Source
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Notice, Rank, RankState, Run
from hai_scheduler.core.model.task import KEPT_ROTATIONS, Task, TaskState
from hai_scheduler.core.model.usage_summary import merged_summary


@dataclass(frozen=True, slots=True)
class Launch:
    """Start every rank of the run."""

    task_id: TaskId
    run_id: RunId


@dataclass(frozen=True, slots=True)
class RingNotice:
    """The run's notice is new or has changed: wake the supervisors that wait for it."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class Kill:
    """End all ranks of the run that are left."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class Finalize:
    """The end of the run is recorded: the cluster may delete its own records of the run."""

    run_id: RunId


#: What is done on the cluster. A notice is none: the ranks ask the service for it.
ClusterEffect = Launch | Kill | Finalize
Effect = ClusterEffect | RingNotice
Advanced = tuple[Task, tuple[Effect, ...]]


class InvalidTransition(Exception):
    """The event cannot happen in the task's state; the caller has to check the state first."""

    def __init__(self, task: Task, event: Event) -> None:
        super().__init__(f"task {task.id} is {task.state.value}: {type(event).__name__} cannot happen now")
        self.task = task
        self.event = event


def advance(task: Task, event: Event) -> Advanced:
    """Apply an event to a task.

    Returns:
        The task after the event, and the effects that the shell has to carry out, in order.

    Raises:
        InvalidTransition: The event cannot happen in the state of the task.
    """
    handler = TRANSITIONS.get((task.state, type(event)))
    if handler is None:
        raise InvalidTransition(task, event)
    return handler(task, event)


def _live(task: Task) -> Run:
    run = task.live_run
    assert run is not None, f"task {task.id} is {task.state.value} without a live run"
    return run


# -- waiting ------------------------------------------------------------------------------------------


def _start(task: Task, event: Started) -> Advanced:
    number = max(event.above, 0 if task.run is None else task.run.number) + 1
    run = Run(
        id=task.run_id(number),
        number=number,
        ranks=tuple(
            Rank(rank=i, node=node, gpus=event.gpus[i] if event.gpus else ()) for i, node in enumerate(event.nodes)
        ),
        priority=event.priority,
        started_at=event.at,
        origin=event.origin,
    )
    task = replace(task, state=TaskState.STARTING, run=run, reason=None, promise=frozenset(), not_before=None)
    return task, (Launch(task.id, run.id),)


def _promise(task: Task, event: Promised) -> Advanced:
    return replace(task, promise=event.nodes), ()


def _stop_waiting(task: Task, event: AskedToStop) -> Advanced:
    return replace(task, state=TaskState.STOPPED, reason=event.reason, ended_at=event.at, held=False), ()


def _hold(task: Task, _event: Held | AskedToSuspend) -> Advanced:
    return replace(task, held=True, promise=frozenset()), ()


def _release(task: Task, event: Released) -> Advanced:
    """Release the task. Its waiting time begins now: time for which it was held does not count as starving (O2)."""
    since = event.at if task.held and task.state.waiting else task.waiting_since
    return replace(task, held=False, waiting_since=since), ()


def _ignore(task: Task, _event: Event) -> Advanced:
    return task, ()


# -- telling a run to leave ---------------------------------------------------------------------------


def _tell(task: Task, event: AskedToSuspend | AskedToStop, at_most: timedelta | None) -> Advanced:
    run = _live(task)
    grace = timedelta(0) if task.profile is Profile.KILL else task.grace
    if at_most is not None:
        grace = min(grace, at_most)
    notice = Notice(
        reason=event.reason,
        at=event.at,
        deadline=event.at + grace,
        limit=event.at + max(grace, event.limit if at_most is None else at_most),
        beneficiary=event.beneficiary if isinstance(event, AskedToSuspend) else None,
        revision=1 if run.notice is None else run.notice.revision + 1,
    )
    told = replace(task, run=replace(run, notice=notice))
    if grace <= timedelta(0):
        told, effects = _kill(told, event.at)
        return told, (RingNotice(run.id), *effects)
    return told, (RingNotice(run.id),)


def _suspend(task: Task, event: AskedToSuspend) -> Advanced:
    held = replace(task, state=TaskState.SUSPENDING, held=task.held or event.hold)
    if event.reason is Reason.TURN_OVER:
        held = replace(held, rotations=(*task.rotations, event.at)[-KEPT_ROTATIONS:])
    return _tell(held, event, event.at_most)


def _suspend_again(task: Task, event: AskedToSuspend) -> Advanced:
    """Handle a second notice: the first one stands, unless the second has an earlier deadline."""
    run = _live(task)
    assert run.notice is not None
    if event.hold and task.state is TaskState.SUSPENDING:
        task = replace(task, held=True)
    latest = run.notice.deadline if event.at_most is None else event.at + event.at_most
    if latest >= run.notice.deadline:
        return task, ()
    notice = replace(run.notice, deadline=latest, limit=latest, revision=run.notice.revision + 1)
    return replace(task, run=replace(run, notice=notice)), (RingNotice(run.id),)


def _stop(task: Task, event: AskedToStop) -> Advanced:
    return _tell(replace(task, state=TaskState.STOPPING, held=False), event, None)


def _stop_leaving(task: Task, event: AskedToStop) -> Advanced:
    """Stop a task that is leaving already: the deadline of its notice stands."""
    run = _live(task)
    assert run.notice is not None
    notice = replace(run.notice, reason=event.reason, beneficiary=None, revision=run.notice.revision + 1)
    run = replace(run, notice=notice)
    return replace(task, state=TaskState.STOPPING, held=False, run=run), (RingNotice(run.id),)


def _more_time(task: Task, event: Saving) -> Advanced:
    run = _live(task)
    if run.notice is None or run.killed_at is not None:
        return task, ()
    asked = min(event.at + timedelta(seconds=event.seconds), run.notice.limit)
    if asked <= run.notice.deadline:
        return task, ()
    notice = replace(run.notice, deadline=asked, revision=run.notice.revision + 1)
    return replace(task, run=replace(run, notice=notice)), (RingNotice(run.id),)


def _kill(task: Task, at: datetime) -> Advanced:
    run = _live(task)
    run = replace(run, killed_at=run.killed_at or at)
    return replace(task, run=run), (Kill(run.id),)


def _overdue(task: Task, event: Overdue) -> Advanced:
    return _kill(task, event.at)


def _with_done(task: Task, event: Done) -> Task:
    """Mark the rank as done; the run is done when every rank is done or gone, or when one rank reported for all."""
    run = _live(task)
    ranks = tuple(replace(rank, done=True) if event.rank in (None, rank.rank) else rank for rank in run.ranks)
    # What was said stays said: a rank that another one has spoken for may say nothing, or speak again.
    done = run.done or all(rank.done or rank.state.gone for rank in ranks)
    return replace(task, run=replace(run, ranks=ranks, done=done))


def _done(task: Task, event: Done) -> Advanced:
    """End the run at once if all its ranks have saved and may leave, so that its nodes are free."""
    task = _with_done(task, event)
    return _kill(task, event.at) if _live(task).done else (task, ())


def _yield(task: Task, event: Done) -> Advanced:
    """Suspend a job that gives its nodes back without a notice."""
    task = _with_done(task, event)
    run = _live(task)
    if not run.done or run.killed_at is not None:  # being ended already, for a reason of its own (H1, H2)
        return task, ()
    notice = Notice(reason=Reason.YIELDED, at=event.at, deadline=event.at, limit=event.at)
    return _kill(replace(task, state=TaskState.SUSPENDING, run=replace(run, notice=notice)), event.at)


def _skip(task: Task, event: TimeSkipped) -> Advanced:
    """Move the times of the run with the clock: skipped time counts neither as service nor towards deadlines."""
    run, by = _live(task), event.by
    notice, checkpoint = run.notice, run.checkpoint
    if notice is not None:
        notice = replace(
            notice,
            at=notice.at + by,
            deadline=notice.deadline + by,
            limit=notice.limit + by,
            revision=notice.revision + 1,
        )
    run = replace(
        run,
        started_at=run.started_at + by,
        running_at=None if run.running_at is None else run.running_at + by,
        notice=notice,
        killed_at=None if run.killed_at is None else run.killed_at + by,
        checkpoint=None if checkpoint is None else replace(checkpoint, at=checkpoint.at + by),
    )
    return replace(task, run=run), () if notice is None else (RingNotice(run.id),)


# -- what the job and the cluster say -----------------------------------------------------------------


def _received(task: Task, event: NoticeReceived) -> Advanced:
    known = next((rank.notified_at for rank in _live(task).ranks if rank.rank == event.rank), None)
    return _with_rank(task, event.rank, notified_at=known or event.at), ()


def _saved(task: Task, event: Saved) -> Advanced:
    """Keep the newest checkpoint: reports of several ranks, and those that were delayed, come in any order."""
    run, new = _live(task), event.checkpoint
    known = run.checkpoint
    if known is not None and (new.at, new.source is Source.TOLD) <= (known.at, known.source is Source.TOLD):
        return task, ()
    return replace(task, run=replace(run, checkpoint=new), checkpoint=new, unsaved=0), ()


def _spoilt(task: Task, event: Spoilt) -> Advanced:
    return replace(task, run=replace(_live(task), checkpoint=event.checkpoint), checkpoint=event.checkpoint), ()


def _keep_state(task: Task, event: StateKept) -> Advanced:
    return replace(task, job_state=event.text), ()


def _gpus_idle(task: Task, event: GpusIdle) -> Advanced:
    return _with_rank(task, event.rank, idle_gpus_since=event.since), ()


def _fell_back(task: Task, event: FellBack) -> Advanced:
    return _with_rank(task, event.rank, fallback=event.why), ()


def _with_rank(task: Task, number: int, **facts: Any) -> Task:
    """Return the task with facts on a rank of its live run."""
    run = _live(task)
    ranks = tuple(replace(rank, **facts) if rank.rank == number else rank for rank in run.ranks)
    return replace(task, run=replace(run, ranks=ranks))


def _ranks_seen(task: Task, event: RanksSeen) -> Advanced:
    run = _live(task)
    run = replace(run, ranks=tuple(map(_heard, run.ranks, event.ranks)))
    if all(rank.state.gone for rank in run.ranks):  # B4
        return _end(replace(task, run=run), event.at, give_up=event.give_up)
    effects: tuple[Effect, ...] = ()
    if run.killed_at is None and _broken(run):
        # Ranks may have failed because another rank was lost (H1) or never started.
        excused = any(rank.state is RankState.LOST or rank.unstarted for rank in run.ranks)
        run = replace(run, killed_at=event.at, failed_ranks=() if excused else _failed_ranks(run))
        effects = (Kill(run.id),)
    started = all(rank.state is not RankState.PENDING and not rank.unstarted for rank in run.ranks)
    state = task.state
    if started and run.running_at is None:
        run = replace(run, running_at=event.at)
        task = replace(task, starting_took=event.at - run.started_at)
    if state is TaskState.STARTING and started:
        state = TaskState.RUNNING
    return replace(task, state=state, run=run), effects


def _heard(known: Rank, seen: Rank) -> Rank:
    """Return the rank as it was seen, with what it has said itself: that may have come since the look."""
    said, notified_at = known.done or seen.done, known.notified_at or seen.notified_at
    if (said, notified_at) == (seen.done, seen.notified_at):
        return seen
    return replace(seen, done=said, notified_at=notified_at)


def _broken(run: Run) -> bool:
    """Whether the gang is broken: a rank was lost (H1), could not be started, or failed without a notice (H2)."""
    if any(rank.state is RankState.LOST or rank.unstarted for rank in run.ranks):
        return True
    return bool(_failed_ranks(run)) and run.notice is None


def _failed_ranks(run: Run) -> tuple[int, ...]:
    """Return the ranks that have started and have exited with a status other than 0."""
    ended = (rank for rank in run.ranks if rank.state is RankState.EXITED and not rank.unstarted)
    return tuple(rank.rank for rank in ended if rank.exit_code != 0)


def _end(task: Task, at: datetime, *, give_up: bool) -> Advanced:
    run = _live(task)
    row = row_with(task, at)
    ending = outcome_of(task, run)
    if ending.reason is Reason.FAILED and run.killed_at is None:  # else it was noted when the others were ended
        run = replace(run, failed_ranks=_failed_ranks(run))
    # At least zero: the clocks of replicas may disagree.
    served = timedelta(0) if run.running_at is None else max(timedelta(0), at - run.running_at)
    lost = lost_work(run, ending, at)
    used = merged_summary(rank.summary for rank in run.ranks)
    ranks = tuple(replace(rank, summary=None) for rank in run.ranks)
    ended = replace(run, ranks=ranks, ended_at=at, reason=ending.reason, left=ending.left, lost=lost, summary=used)
    task = replace(task, run=ended, served=task.served + served, reason=ending.reason)
    task = replace(task, unsaved=unsaved_after(task, ended, ending))
    if ending.reason is Reason.SUPERVISOR_KILLED:
        # The task itself is to blame (H4): it waits as after a failed start, and fails after too many in a row.
        task = _wait_for_next_start(replace(task, failed_starts=row - 1), at)
        if give_up:
            ending, task = replace(ending, state=TaskState.FAILED), replace(task, not_before=None)
    elif ending.reason is Reason.START_FAILED:  # ranks that were up had to end first (B4)
        task = _wait_for_next_start(task, at)
    else:
        task = replace(task, failed_starts=0)
    if ending.state is TaskState.FAILED and _worth_a_retry(task, run, ending):
        return _retry(task, at), ()
    if ending.state is not TaskState.SUSPENDED:
        return replace(task, state=ending.state, ended_at=at, held=False), ()
    return _back_in_queue(task, ending, at), ()


def _worth_a_retry(task: Task, run: Run, ending: RunOutcome) -> bool:
    """Whether the task's retry policy wants its failed command started again (H2)."""
    retry = task.retry
    if retry is None or ending.reason is not Reason.FAILED or task.retries >= retry.count:
        return False
    return not retry.exit_codes or bool(run.failure_codes & retry.exit_codes)


def _retry(task: Task, at: datetime) -> Task:
    assert task.retry is not None
    wait = doubled(task.retry.backoff, task.retries, most=MOST_BACKOFF)
    return replace(
        task, state=TaskState.SUSPENDED, retries=task.retries + 1, not_before=at + wait, waiting_since=at + wait
    )


def _back_in_queue(task: Task, ending: RunOutcome, at: datetime) -> Task:
    """Put the task back into the queue: it waits from now on (O2), at its old place among its user's tasks (O3, H1)."""
    run = task.run
    ranks = () if run is None else run.ranks
    lost = {rank.node for rank in ranks if rank.state is RankState.LOST and not rank.supervisor_killed}
    return replace(
        task,
        state=TaskState.SUSPENDED,
        waiting_since=at,
        leaving_took=task.leaving_took if run is None or run.notice is None else at - run.notice.at,
        suspensions=task.suspensions + (0 if ending.reason.unplanned else 1),
        avoid=task.avoid.union(lost),
    )


def _start_failed(task: Task, event: StartFailed) -> Advanced:
    run = _live(task)
    failed = event.nodes | event.doubtful or run.nodes[:1]
    ranks = tuple(
        replace(r, message=event.message, unstarted=r.unstarted or event.blame_of(r.node)) if r.node in failed else r
        for r in run.ranks
    )
    task = replace(
        task,
        run=replace(run, ranks=ranks, ended_at=event.at, reason=Reason.START_FAILED),
        reason=Reason.START_FAILED,
        avoid=task.avoid | event.nodes | event.doubtful,
    )
    waiting = _wait_for_next_start(task, event.at, crowded=event.crowded)
    if task.state is TaskState.STOPPING:
        return replace(waiting, state=TaskState.STOPPED, not_before=None, ended_at=event.at), ()
    if event.give_up:
        return replace(waiting, state=TaskState.FAILED, not_before=None, ended_at=event.at), ()
    return replace(waiting, state=TaskState.SUSPENDED, waiting_since=event.at), ()


def _wait_for_next_start(task: Task, at: datetime, *, crowded: bool = False) -> Task:
    if crowded:  # F5
        return replace(task, not_before=at + CROWDED_WAIT)
    failed = task.failed_starts + 1
    return replace(task, failed_starts=failed, not_before=at + wait_after(failed))


# -- the table ----------------------------------------------------------------------------------------

#: The longest wait before a retry (H2).
MOST_BACKOFF = timedelta(days=1)

E_ = TypeVar("E_", bound=Event)
Handler = Callable[[Task, Event], Advanced]


def _rows(
    event: type[E_], handler: Callable[[Task, E_], Advanced], *states: TaskState
) -> dict[tuple[TaskState, type[Event]], Handler]:
    return {(state, event): handler for state in states}  # type: ignore[misc]  # the key picks the handler


_WAITING = (TaskState.QUEUED, TaskState.SUSPENDED)
_UP = (TaskState.STARTING, TaskState.RUNNING)
_LEAVING = (TaskState.SUSPENDING, TaskState.STOPPING)
_ENDED = (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED)

#: The handler for each pair of state and event. A pair that is not here cannot happen.
TRANSITIONS: Mapping[tuple[TaskState, type[Event]], Handler] = MappingProxyType(
    _rows(Started, _start, *_WAITING)
    | _rows(Promised, _promise, *_WAITING)
    | _rows(AskedToStop, _stop_waiting, *_WAITING)
    | _rows(AskedToStop, _stop, *_UP)
    | _rows(AskedToStop, _stop_leaving, TaskState.SUSPENDING)
    | _rows(AskedToStop, _ignore, TaskState.STOPPING)
    | _rows(AskedToSuspend, _hold, *_WAITING)
    | _rows(AskedToSuspend, _suspend, *_UP)
    | _rows(AskedToSuspend, _suspend_again, *_LEAVING)
    | _rows(Held, _hold, *_WAITING, *_UP, TaskState.SUSPENDING)
    | _rows(Released, _release, *_WAITING, *_UP, TaskState.SUSPENDING)
    | _rows(RanksSeen, _ranks_seen, *_UP, *_LEAVING)
    | _rows(StartFailed, _start_failed, *_UP, *_LEAVING)
    | _rows(TimeSkipped, _skip, *_UP, *_LEAVING)
    | _rows(Saving, _more_time, *_UP, *_LEAVING)
    | _rows(Saved, _saved, *_UP, *_LEAVING)
    | _rows(Spoilt, _spoilt, *_UP, *_LEAVING)
    | _rows(StateKept, _keep_state, *_UP, *_LEAVING)
    | _rows(NoticeReceived, _received, *_LEAVING)
    | _rows(Done, _yield, *_UP)
    | _rows(Done, _done, *_LEAVING)
    | _rows(Overdue, _overdue, *_LEAVING)
    # Reports that arrive late, from a run that has ended, change nothing.
    | _rows(NoticeReceived, _ignore, *_WAITING, *_UP, *_ENDED)
    | {(state, event): _ignore for event in (Saving, Saved, StateKept, Done) for state in _WAITING + _ENDED}
    | _rows(GpusIdle, _gpus_idle, *_UP)
    | _rows(FellBack, _fell_back, *_UP)
    | {(state, event): _ignore for event in (GpusIdle, FellBack) for state in _WAITING + _LEAVING + _ENDED}
)
