"""How a run whose ranks are all gone ended (docs/scheduling.md, "Suspending, in time", and rules H1, H2)."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.model import Profile, RankState, Run, Task, TaskState
from hai_scheduler.core.reasons import Reason

#: Exit statuses that mean "left as asked" for a run that was told to leave (peers: Slurm, Lightning, submitit).
#: 143 SIGTERM, 130 SIGINT, 138 SIGUSR1, 75 EX_TEMPFAIL.
LEFT_AS_ASKED: dict[Profile, frozenset[int]] = {
    Profile.SIGTERM: frozenset({0, 143, 130, 75}),
    Profile.SLURM: frozenset({0, 143, 138}),
    Profile.COOPERATIVE: frozenset(),
    Profile.KILL: frozenset(),
}


@dataclass(frozen=True, slots=True)
class Ending:
    """What becomes of the task and why; clean is None for a run that nobody asked to leave."""

    state: TaskState
    reason: Reason
    clean: bool | None = None


def ending_of(task: Task, run: Run) -> Ending:
    """Read the ending from the ranks, the notice and the profile. Every rank must be gone."""
    codes = [rank.exit_code for rank in run.ranks if rank.state is RankState.EXITED]
    lost = any(rank.state is RankState.LOST for rank in run.ranks)
    if run.failed_ranks and task.state is not TaskState.STOPPING:
        # Whatever befell the others while they were being ended, or whoever asked them to leave meanwhile (H2).
        return Ending(TaskState.FAILED, Reason.FAILED)
    if run.notice is not None:
        return _told(task, run, codes, lost)
    if lost:
        return Ending(TaskState.SUSPENDED, Reason.NODE_LOST)
    if all(code == 0 for code in codes):
        return Ending(TaskState.SUCCEEDED, Reason.SUCCEEDED)
    return Ending(TaskState.FAILED, Reason.FAILED)


def _told(task: Task, run: Run, codes: list[int | None], lost: bool) -> Ending:
    assert run.notice is not None
    reason = run.notice.reason
    as_asked = LEFT_AS_ASKED[task.profile]
    all_zero = all(code == 0 for code in codes)
    # One rank may speak for ranks that just end, as in a script that lets only the master report.
    done = run.done or (all_zero and not lost and any(rank.done for rank in run.ranks))
    clean = done or (run.killed_at is None and not lost and all(code in as_asked for code in codes))
    if task.state is TaskState.STOPPING:
        state = TaskState.FAILED if reason is Reason.TIME_LIMIT else TaskState.STOPPED
        return Ending(state, reason, clean)
    left_by_itself = run.killed_at is None and not done and not lost
    if task.profile is Profile.COOPERATIVE and left_by_itself:
        # The job polls and says when it leaves for a later turn; without that word an exit is an ending.
        if all_zero:
            return Ending(TaskState.SUCCEEDED, Reason.SUCCEEDED)
        if reason is not Reason.EVICTED:  # else the cluster may have ended it before the service could
            return Ending(TaskState.FAILED, Reason.FAILED)
    return Ending(TaskState.SUSPENDED, reason, clean)
