"""Converts tasks and their runs into models of the wire, and submissions and reports back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from hai_scheduler.api.convert.overview import short_out
from hai_scheduler.api.wire.runs import (
    FailureOut,
    NoticeOut,
    RankReport,
    RunOut,
)
from hai_scheduler.api.wire.tasks import HolderOut, TaskDetail, TaskProgressOut, TaskSummary, VerdictOut
from hai_scheduler.core.model.leaving import Source
from hai_scheduler.core.model.limits import MAX_HOLDERS
from hai_scheduler.core.model.priority import choice_of, level_name
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Notice, Run
from hai_scheduler.core.model.task import Retry, TaskSpec
from hai_scheduler.core.model.verdicts import Holder, Verdict
from hai_scheduler.core.workspace import builds
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.messages import fallbacks_of, message_of, told_to_leave
from hai_scheduler.sentences.verdicts import why
from hai_scheduler.sentences.words import because, sentences
from hai_scheduler.service.insight.queries import TaskStory, TaskView
from hai_scheduler.service.logs.failures import Failure
from hai_scheduler.service.runs.rank_reports import ReportKind, RunNotice, RunReport
from hai_scheduler.service.shared.caller import Caller

#: Reasons that end a task: a notice with one of them is of the kind `stop`.
_FOR_GOOD = frozenset({Reason.USER_STOPPED, Reason.OWNER_ARCHIVED, Reason.TIME_LIMIT})


#: Fields of a task's spec that its details show under the same name.
_SAME_IN_SPEC: Final = tuple(
    one.name for one in fields(TaskSpec) if one.name in TaskDetail.model_fields.keys() - {"checkpoint_dir"}
)


def _retry_fields(retry: Retry | None) -> dict[str, Any]:
    if retry is None:
        return {"retries": 0, "retry_backoff_s": 0.0, "retry_exit_codes": []}
    return {
        "retries": retry.count,
        "retry_backoff_s": retry.backoff.total_seconds(),
        "retry_exit_codes": sorted(retry.exit_codes),
    }


def report_of(body: RankReport, kind: ReportKind) -> RunReport:
    """Return the report of a rank, which is of this kind."""
    said = {name: getattr(body, name) for name in ("at", "seconds", "step", "path", "all_ranks", "text", "fallback")}
    return RunReport(kind=kind, source=Source(body.source), **said)


#: Models of holders for one caller, by the id of the tuple that they were made from. The tuple is kept beside them, so
#: that its id is not used again. On a page most tasks wait for the same holders.
_Shown = dict[int, tuple[tuple[Holder, ...], list[HolderOut]]]


def summaries(views: Iterable[TaskView], caller: Caller) -> Iterator[TaskSummary]:
    """Yield the models of tasks in a list, one after the other. Each names at most `MAX_HOLDERS` holders."""
    shown: _Shown = {}
    for view in views:
        yield TaskSummary.model_validate(_summary(view, caller, shown, MAX_HOLDERS))


def detail(story: TaskStory, caller: Caller, failure: Failure | None = None) -> TaskDetail:
    """Return the model of a task with all its details."""
    task, spec, run = story.view.task, story.spec, story.view.task.live_run
    hints = [*filter(None, [story.hint]), *([] if run is None else fallbacks_of(caller.say, run))]
    return TaskDetail.model_validate(
        {
            **_summary(story.view, caller, {}),
            **{name: getattr(spec, name) for name in _SAME_IN_SPEC},
            # What marks a build is no variable that a further submission could give.
            "env": {name: value for name, value in spec.env.items() if name != builds.VARIABLE},
            "secrets": [str(ref) for ref in spec.secrets],
            "profile": task.profile.value,
            "signal": None if task.signal is None else str(task.signal),
            "hint": sentences(caller.say, hints) or None,
            "grace_s": task.grace,
            "time_limit_s": task.time_limit,
            "checkpoint_dir": story.checkpoint_dir,
            "job_state": task.job_state,
            **_retry_fields(task.retry),
            "retries_used": task.retries,
            "retry_at": task.not_before if task.state.waiting else None,
            "failure": None if failure is None else _failure(failure),
            "runs": [run_out(run, caller.say) for run in story.runs],
        }
    )


def _summary(view: TaskView, caller: Caller, shown: _Shown, holders: int | None = None) -> dict[str, object]:
    task, run = view.task, view.task.live_run
    message = message_of(caller.say, task, view.verdict, view.at)
    return {
        "id": task.id,
        "name": task.name,
        "user": task.user,
        "state": task.state.value,
        "held": task.held,
        "priority": choice_of(task.priority),
        "effective_priority": None if view.effective is None else level_name(view.effective),
        "group": task.group,
        "nodes": task.nodes,
        "gpus": task.gpus,
        "node_names": list(run.nodes) if run else [],
        "submitted_at": task.submitted_at,
        "running_since": run.running_at if run else None,
        "idle_gpus_since": run.idle_gpus_since if run else None,
        "ended_at": task.ended_at,
        "served_s": view.served.total_seconds(),
        "run_count": task.run.number if task.run else 0,
        "suspensions": task.suspensions,
        "unsaved": task.unsaved,
        # The model reads the attributes of this value.
        "checkpoint": task.checkpoint,
        "reason": task.reason.value if task.reason else None,
        "message": message,
        # The message of a waiting task is why it waits.
        "verdict": None if view.verdict is None else _verdict_out(view.verdict, message, caller, shown, holders),
        "deadline": run.notice.deadline if run and run.notice else None,
        "tags": list(view.tags),
        "progress": progress_out(view.progress, view.left),
        "short": None if view.short is None else short_out(view.short, caller.say, view.at),
        "starred": view.starred,
        # The model reads the attributes of this value.
        "use": view.use,
    }


def progress_out(found: StepProgress | None, left: timedelta | None) -> TaskProgressOut | None:
    """Return the model of a job's progress, with the time that it still has to run."""
    if found is None:
        return None
    return TaskProgressOut(step=found.step, total=found.total, at=found.at, left_s=_seconds(left))


def verdict_out(verdict: Verdict, caller: Caller, now: datetime) -> VerdictOut:
    """Return the model of a verdict. Of other users' tasks it has the ids, not the names."""
    return _verdict_out(verdict, why(caller.say, verdict, now), caller, {})


def _verdict_out(
    verdict: Verdict, sentence: str, caller: Caller, shown: _Shown, holders: int | None = None
) -> VerdictOut:
    return VerdictOut(
        kind=verdict.kind.value,
        sentence=sentence,
        position=verdict.position,
        earliest_start=verdict.earliest_start,
        data=dict(verdict.data),
        holders=_holders_out(verdict.holders, caller, shown, holders),
        holder_count=len(verdict.holders),
    )


def holder_out(holder: Holder, caller: Caller) -> HolderOut:
    """Return the model of a holder; names of other users' tasks are private."""
    return HolderOut(
        task_id=holder.task_id,
        name=holder.name if caller.may_see(holder.user) else "",
        user=holder.user,
        priority=level_name(holder.priority),
        nodes=holder.nodes,
        gpus=holder.gpus,
    )


def _holders_out(holders: tuple[Holder, ...], caller: Caller, shown: _Shown, most: int | None) -> list[HolderOut]:
    if id(holders) not in shown:
        found = [holder_out(holder, caller) for holder in holders[:most]]
        shown[id(holders)] = holders, found
    return shown[id(holders)][1]


def run_out(run: Run, say: Language) -> RunOut:
    """Return the model of a run."""
    reason = run.reason or (run.notice.reason if run.notice else None)
    said = None if reason is None else because(say, reason)
    return RunOut.of(run, state=_run_state(run), notice=_notice(run.notice, say), because=said)


def _failure(failure: Failure) -> FailureOut:
    words = failure.words
    return FailureOut.of(failure.rank, run=failure.run, at=failure.at, worker=words.worker, lines=words.lines)


def _run_state(run: Run) -> Literal["starting", "running", "leaving", "ended"]:
    if not run.live:
        return "ended"
    if run.notice is not None or run.killed_at is not None:
        return "leaving"
    return "starting" if run.running_at is None else "running"


def _notice(notice: Notice | None, say: Language) -> NoticeOut | None:
    """Return the model of a notice as a task's history shows it: the beneficiary only by its id."""
    if notice is None:
        return None
    return _notice_out(notice, "stop" if notice.reason in _FOR_GOOD else "suspend", told_to_leave(say, notice))


def notice_out(told: RunNotice) -> NoticeOut:
    """Return the model of a notice as a rank gets it."""
    return _notice_out(told.notice, told.kind, told.message, told.signal_at)


def _notice_out(
    notice: Notice, kind: Literal["suspend", "stop"], message: str, signal_at: datetime | None = None
) -> NoticeOut:
    return NoticeOut.of(notice, kind=kind, message=message, signal_at=signal_at)


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds()
