"""The platform's own lines in a log: when a run started, where, how it ended and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hai_scheduler.core.model.leaving import Left
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState, Run
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import because, duration

#: The number of interruptions in a row without a checkpoint from which the line mentions them.
_OFTEN: Final = 2
#: Reasons for the end of a task: nothing is resumed, and nothing counted as lost.
FOR_GOOD: Final = frozenset({Reason.USER_STOPPED, Reason.OWNER_ARCHIVED, Reason.TIME_LIMIT})
#: How many nodes or ranks a line names; of the others it says only how many.
_NAMED: Final = 4


def start_of(run: Run) -> str:
    """The line at the start of a run."""
    return f"-- run {run.number} started on {_some(run.nodes)} --"


def end_of(run: Run, runs: Sequence[Run] = ()) -> str:
    """The line at the end of a run: how, when and why it ended, and what it saved.

    Args:
        run: The run.
        runs: All runs of its task, by number.
    """
    at = f" at {run.ended_at:%H:%M:%S} UTC" if run.ended_at else ""
    parts = [f"run {run.number} {_ending(run)}{at}: {_because(run)}", *_saving(run)]
    if run.lost:
        # Lost work is counted over all nodes; readers see how far back the task starts again.
        parts.append(f"{duration(ENGLISH, run.lost / max(1, len(run.ranks)))} of work lost")
    elif _is_unknown(run):
        parts.append("how much work is lost is not known: name the folder of its checkpoints with --watch")
    often = _unsaved([one for one in runs if one.number < run.number] + [run])
    if often >= _OFTEN:
        task = run.id.partition(".")[0]
        parts.append(f"{often} interruptions in a row without a checkpoint: `hai status {task}` says what to do")
    return f"-- {'; '.join(parts)} --"


def no_log(run: Run) -> str:
    """The line in place of a missing log."""
    return f"-- no log of run {run.number} is kept --"


def lost_bytes(run: Run, count: int) -> str:
    """The line in place of bytes that log rotation has removed."""
    return f"-- {count:,} bytes of the log of run {run.number} are no longer kept --"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _ending(run: Run) -> str:
    match run.reason:
        case Reason.SUCCEEDED:
            return "succeeded"
        case Reason.FAILED:
            return "failed"
        case Reason.USER_STOPPED | Reason.OWNER_ARCHIVED:
            return "stopped"
        case Reason.TIME_LIMIT | Reason.NODE_LOST | Reason.SUPERVISOR_KILLED | Reason.START_FAILED | None:
            return "ended"
        case _:
            return "suspended"


def _because(run: Run) -> str:
    if run.reason is None:
        return "it ended"
    beneficiary = run.notice.beneficiary if run.notice else None
    task = f" (task {beneficiary})" if beneficiary is not None else ""
    return because(ENGLISH, run.reason) + task + _ranks(run)


def _ranks(run: Run) -> str:
    """The exit statuses of failed ranks, or what the cluster says of ranks that it ended or lost, in brackets."""
    if run.reason is Reason.FAILED:
        told = [f"rank {r.rank} on {r.node} exited with {r.failed_with}" for r in run.failures if r.exit_code]
    elif run.reason is not None and (run.reason.unplanned or run.reason is Reason.EVICTED):
        told = [f"rank {r.rank} on {r.node}: {r.message}" for r in run.ranks if r.message]
    else:
        told = []
    return f" ({_some(tuple(told))})" if told else ""


def _saving(run: Run) -> Iterator[str]:
    """The parts of the line about the run's checkpoints."""
    checkpoint = run.checkpoint
    step = "" if checkpoint is None or checkpoint.step is None else f" at step {checkpoint.step}"
    # Which file was taken for one: only its owner can tell whether it is.
    file = f" ({checkpoint.path})" if checkpoint is not None and checkpoint.path else ""
    match run.left:
        case Left.SAVED:
            yield f"saved{step}{file}"
            return
        case Left.UNKNOWN if any(rank.caught is False for rank in run.ranks):
            yield "it catches no signal and was ended by one, and nothing shows that it saved when it was told"
        case Left.UNKNOWN:
            yield "it left by itself, and nothing shows that it saved when it was told"
        case Left.ENDED if run.killed_at is None and all(rank.state is RankState.EXITED for rank in run.ranks):
            codes = sorted({rank.exit_code for rank in run.ranks if rank.exit_code})
            yield f"it ended by itself with status {_some(tuple(map(str, codes)))}, and nothing shows that it saved"
        case Left.ENDED:
            yield "it was ended before it had saved"
    if checkpoint is not None:
        yield f"its latest checkpoint is of {checkpoint.at:%H:%M:%S} UTC{step}{file}"


def _is_unknown(run: Run) -> bool:
    """Whether it is not known how much work an interrupted run has lost."""
    interrupted = run.left in (Left.UNKNOWN, Left.ENDED) and run.reason not in FOR_GOOD
    return interrupted and run.lost is None and run.checkpoint is None


def _unsaved(runs: Sequence[Run]) -> int:
    """The number of latest runs interrupted in a row without evidence of a checkpoint, as `Task.unsaved` counts."""
    count = 0
    for run in reversed(runs):
        if run.checkpoint is not None or run.left is Left.SAVED:
            break
        count += run.left is not None and run.running_at is not None
    return count if runs and runs[-1].left is not None else 0
