"""What a task does now, why it has ended, and why a run is told to leave."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hai_scheduler.core.explaining.silence import SignsOfLife
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Fallback, Notice, RankState, Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.core.model.verdicts import Verdict
from hai_scheduler.core.workspace.fabrics import NoFabric
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.verdicts import why
from hai_scheduler.sentences.words import because, clock, duration, gang, level, listed, node_names

#: Ranks that are named at most.
_RANKS = 4


def message_of(say: Language, task: Task, verdict: Verdict | None, now: datetime) -> str:
    """Return what the task does, waits for, or has ended with: one sentence with a capital and a full stop."""
    if task.state.waiting:
        return why(say, verdict, now) if verdict else say("verdict.NEXT")
    if task.state.ended:
        told = _details(say, task)
        return say(
            "message.ended",
            state=say(f"ended.{task.state.value}"),
            because=because(say, task.reason),
            details=say("message.details", details=told) if told else "",
        )
    run = task.live_run
    assert run is not None
    there = node_names(say, run.nodes)
    if run.notice is not None:
        key = "message.stopping" if task.state is TaskState.STOPPING else "message.suspending"
        left = duration(say, run.notice.deadline - now)
        return say(key, nodes=there, because=because(say, run.notice.reason), left=left)
    if task.state is not TaskState.RUNNING:
        return say("message.starting", nodes=there, waits=_waits(say, run))
    since = say("message.since", clock=clock(run.running_at, now)) if run.running_at else ""
    return say("message.running", nodes=there, since=since)


def _waits(say: Language, run: Run) -> str:
    """Return `: rank 1 on node-2 waits: ImagePullBackOff: ...`, in the cluster's words, or "" without a problem."""
    waiting = [rank for rank in run.ranks if rank.state is RankState.PENDING and rank.message]
    if not waiting:
        return ""
    first = waiting[0]
    more = say("message.more_wait", n=len(waiting) - 1) if len(waiting) > 1 else ""
    told = (first.message or "").rstrip(". ")
    return say("message.waits", rank=first.rank, node=first.node, more=more, why=told)


def _details(say: Language, task: Task) -> str:
    if task.run is None:
        return ""
    if task.reason is Reason.START_FAILED:
        return next((rank.message for rank in task.run.ranks if rank.message), "")
    return failures_of(say, task.run) if task.reason is Reason.FAILED else ""


def failures_of(say: Language, run: Run) -> str:
    """Return how the ranks that broke the run failed: `rank 0 with status 1, rank 2 with status 137: out of memory`."""
    failed = [rank for rank in run.failures if rank.exit_code]
    names = (say("message.failure", rank=rank.rank, how=rank.failed_with) for rank in failed[:_RANKS])
    return listed(say, names, len(failed) - _RANKS)


def notice_of(say: Language, notice: Notice, beneficiary: Task | None) -> str:
    """Return why a run is told to leave, as its ranks read it: a sentence without capital and full stop."""
    told = because(say, notice.reason)
    if beneficiary is None or notice.reason not in (Reason.PREEMPTED, Reason.TURN_OVER, Reason.GPUS_IDLE):
        return told
    return say(
        "message.beneficiary",
        because=told,
        id=beneficiary.id,
        user=beneficiary.user,
        level=level(say, beneficiary.priority),
        gang=gang(say, beneficiary.nodes, beneficiary.gpus),
    )


def told_to_leave(say: Language, notice: Notice) -> str:
    """Return why a run is told to leave, as its task's history says it: the beneficiary only by its id."""
    told = because(say, notice.reason)
    other = notice.beneficiary
    return told if other is None else say("message.beneficiary_id", because=told, id=other)


def silence_of(say: Language, signs: SignsOfLife, task: TaskId) -> str:
    """Return since when a running task shows no sign of life: two sentences."""

    def since(at: datetime | None) -> str:
        return say("message.never") if at is None else say("message.not_since", clock=f"{at:%Y-%m-%d %H:%M} UTC")

    return say(
        "message.silent",
        printed=since(signs.printed),
        saved=since(signs.saved),
        what=say("message.gpus" if signs.gpus else "message.processors"),
        used=since(signs.used),
        task=task,
    )


def fallbacks_of(say: Language, run: Run) -> list[str]:
    """Return why the RDMA of ranks falls back to TCP, and who can do what: the sentences of each cause."""
    found = ((why, [rank.node for rank in run.ranks if rank.fallback is why]) for why in Fallback)
    return [fallback_of(say, why, nodes) for why, nodes in found if nodes]


def fallback_of(say: Language, why: Fallback, nodes: Sequence[str]) -> str:
    """Return why RDMA falls back to TCP on these nodes, and who can do what: two sentences."""
    return say(f"message.fallback_{why.value}", nodes=node_names(say, nodes))


def lacks_fabric(say: Language, why: NoFabric, group: str, user: str) -> str:
    """Return why the ranks of a task speak over TCP where others have a faster network, and what helps."""
    return say(f"message.no_fabric_{why.value}", group=group, user=user)
