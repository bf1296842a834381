"""How a run has ended, once all its ranks are gone (docs/scheduling.md, "Suspending, in time"; rules H1, H2, H4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hai_scheduler.core.model.leaving import Left, Profile
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, RankState, Run
from hai_scheduler.core.model.task import Task, TaskState

#: Exit statuses that mean "left as asked" for a run that was told to leave (peers: Slurm, Lightning, submitit).
#: 143 SIGTERM, 130 SIGINT, 138 SIGUSR1, 75 EX_TEMPFAIL. A process without a handler ends with 128 and more as well:
#: these statuses say that the job left by itself, never that it saved.
LEFT_AS_ASKED: dict[Profile, frozenset[int]] = {
    Profile.AUTO: frozenset({0, 143, 130, 75}),
    Profile.SIGTERM: frozenset({0, 143, 130, 75}),
    Profile.SLURM: frozenset({0, 143, 138}),
    Profile.COOPERATIVE: frozenset(),
    Profile.KILL: frozenset(),
}
#: The signals that a notice may come with, by number: a process that catches one may end with `sys.exit(signum)`, as
#: Ray does, or be killed by the same signal later. Without a handler such a status says nothing of the notice.
_SENT: dict[Profile, frozenset[int]] = {
    Profile.AUTO: frozenset({15, 10, 12}),
    Profile.SIGTERM: frozenset({15}),
    Profile.SLURM: frozenset({10}),
}
#: Profiles whose notice may come with a signal to the workers.
SIGNALLING = frozenset({Profile.AUTO, Profile.SIGTERM, Profile.SLURM})


def as_asked(task: Task) -> frozenset[int]:
    """Return the exit statuses which say that a rank of the task left as it was asked to."""
    chosen = frozenset() if task.signal is None else frozenset({128 + task.signal.name})
    return LEFT_AS_ASKED[task.profile] | chosen


def _left_as_asked(task: Task, rank: Rank) -> bool:
    """Whether an exited rank left by itself, because it was told to."""
    if rank.exit_code in as_asked(task):
        return True
    sent = _SENT.get(task.profile, frozenset()) if task.signal is None else frozenset({int(task.signal.name)})
    return rank.caught is True and rank.exit_code in sent | {128 + number for number in sent}


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The next state of the task, the reason, and how the run left; left is None for a run without a notice."""

    state: TaskState
    reason: Reason
    left: Left | None = None


def outcome_of(task: Task, run: Run) -> RunOutcome:
    """Return the ending that follows from the ranks, the notice and the profile. Every rank must be gone."""
    codes = [rank.exit_code for rank in run.ranks if rank.state is RankState.EXITED]
    lost = any(rank.state is RankState.LOST for rank in run.ranks)
    if run.failed_ranks and task.state is not TaskState.STOPPING:
        # The first failure counts (H2), not what happened to the other ranks while they were ended or told to leave.
        return RunOutcome(TaskState.FAILED, Reason.FAILED)
    if run.notice is not None:
        if not run.done and all(_came_to_its_end(rank) for rank in run.ranks):
            # Every rank had finished before the notice, or the order to end it, arrived: there is nothing to resume.
            return RunOutcome(TaskState.SUCCEEDED, Reason.SUCCEEDED)
        return _told(task, run, lost)
    if lost:
        return RunOutcome(TaskState.SUSPENDED, Reason.SUPERVISOR_KILLED if own_loss(run) else Reason.NODE_LOST)
    if all(code == 0 for code in codes):
        return RunOutcome(TaskState.SUCCEEDED, Reason.SUCCEEDED)
    return RunOutcome(TaskState.FAILED, Reason.FAILED)


def own_loss(run: Run) -> bool:
    """Whether the cause of every lost rank is that its supervisor was killed on a healthy node (H4)."""
    return all(rank.supervisor_killed for rank in run.ranks if rank.state is RankState.LOST)


def _came_to_its_end(rank: Rank) -> bool:
    """Whether the rank certainly ended with 0 before its command had been told to leave.

    Under `auto`, a job that reads the notice file by itself counts as told.
    """
    return rank.state is RankState.EXITED and rank.exit_code == 0 and rank.signalled is False and not rank.done


def doubt(task: Task, run: Run) -> str | None:
    """Return a warning for the user if a task is resumed although its command may have finished; None: no doubt.

    A run that ended with 0 after the signal of its profile gives no doubt: such jobs leave so.
    """
    if task.state is not TaskState.SUSPENDED or run.notice is None or run.done:
        return None
    if any(rank.exit_code != 0 or rank.state is not RankState.EXITED or rank.done for rank in run.ranks):
        return None
    if any(rank.signalled is None and rank.notified_at is None for rank in run.ranks):
        return (
            "Every rank ended with status 0, and it is not known whether all of them had been told to leave before:"
            " the task counts as suspended, and its command is started again."
        )
    if run.killed_at is not None:
        return (
            "Every rank ended with status 0, but some of them only while they were being ended:"
            " the task counts as suspended, and its command is started again."
        )
    return None


def saved_since(run: Run) -> bool:
    """Whether there is a checkpoint, told or seen, from after the notice.

    A rank dates both its checkpoints and the receipt of the notice by its own clock, so the two are compared: a rank
    whose clock is slow may have saved after its notice although its checkpoint looks older.
    """
    if run.notice is None or run.checkpoint is None:
        return False
    heard = [rank.notified_at for rank in run.ranks if rank.notified_at is not None]
    return run.checkpoint.at >= min([run.notice.at, *heard])


def _told(task: Task, run: Run, lost: bool) -> RunOutcome:
    assert run.notice is not None
    reason = run.notice.reason
    exited = [rank for rank in run.ranks if rank.state is RankState.EXITED]
    all_zero = all(rank.exit_code == 0 for rank in exited)
    # One rank may report for the others, which just exit with 0: some scripts let only the master report.
    done = run.done or (all_zero and not lost and any(rank.done for rank in run.ranks))
    if done or saved_since(run):
        left = Left.SAVED
    elif run.killed_at is None and not lost and all(_left_as_asked(task, rank) for rank in exited):
        left = Left.UNKNOWN
    else:
        left = Left.ENDED
    if task.state is TaskState.STOPPING:
        state = TaskState.FAILED if reason is Reason.TIME_LIMIT else TaskState.STOPPED
        return RunOutcome(state, reason, left)
    if task.profile is Profile.COOPERATIVE and run.killed_at is None and not done and not lost:
        # The job polls and says when it leaves for a later turn; if it exits without saying so, it has ended.
        if all_zero:
            return RunOutcome(TaskState.SUCCEEDED, Reason.SUCCEEDED)
        if reason is not Reason.EVICTED:  # else the cluster may have ended it before the service could
            return RunOutcome(TaskState.FAILED, Reason.FAILED)
    return RunOutcome(TaskState.SUSPENDED, reason, left)


def work_lost(run: Run, now: datetime) -> timedelta:
    """Return the running time that would be lost: since the last checkpoint of the run, or since its start."""
    if run.running_at is None:
        return timedelta(0)
    since = run.running_at if run.checkpoint is None else max(run.running_at, run.checkpoint.at)
    return max(timedelta(0), now - since)


def unsaved_after(task: Task, run: Run, ending: RunOutcome) -> int:
    """Return how many runs in a row, with this one, were interrupted without evidence of a checkpoint (P8).

    A run that was never up, or had no notice, does not count: it says nothing of how the job saves.
    """
    if ending.left is Left.SAVED or run.checkpoint is not None:
        return 0
    interrupted = ending.state is TaskState.SUSPENDED and ending.left is not None and run.running_at is not None
    return task.unsaved + interrupted


def lost_work(run: Run, ending: RunOutcome, at: datetime) -> timedelta | None:
    """Return the lost work of a run that will be resumed: time since the last checkpoint, times nodes.

    A run that saved and left by itself has lost nothing. A run that saved after its notice and went on until it was
    ended has lost the time after its checkpoint. Where no checkpoint was seen and no place for them was named, the job
    may have saved in a place that nobody looks at: how much is lost is not known.
    """
    if ending.state is not TaskState.SUSPENDED:
        return None
    stayed = run.killed_at is not None and not run.done
    if ending.left is Left.SAVED and not stayed:
        return timedelta(0)
    if run.checkpoint is None and any(rank.watched is False for rank in run.ranks):
        return None
    return work_lost(run, at) * len(run.ranks)
