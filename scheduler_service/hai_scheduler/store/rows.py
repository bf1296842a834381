"""Converts values into rows and back. `tests/integration/store` checks that no field is forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Row

from hai_scheduler.core.model.code import CodeSnapshot
from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.leaving import Left, Profile, Signal, SignalName, Source
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Blame, Checkpoint, Notice, Rank, RankState, Run
from hai_scheduler.core.model.task import Retry, Task, TaskSpec, TaskState
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.store.usage_rows import usage_of, usage_values

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: Bounds of times that are read, in microseconds, with room for sums: a row that cannot be read would stop every tick.
_FIRST, _LAST = ((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND for year in (2, 9000))
_Values = dict[str, Any]

# A look-up in these is several times faster than a call of the enum: a tick reads thousands of rows.
_STATES = {state.value: state for state in TaskState}
_RANK_STATES = {state.value: state for state in RankState}
_BLAMES: dict[str | None, Blame | None] = {None: None, **{blame.value: blame for blame in Blame}}
_PROFILES = {profile.value: profile for profile in Profile}
_LEFT: dict[str | None, Left | None] = {None: None, **{left.value: left for left in Left}}
_PRIORITIES: dict[int | None, Priority | None] = {None: None, **{level.value: level for level in Priority}}
_REASONS: dict[str | None, Reason | None] = {None: None, **{reason.value: reason for reason in Reason}}


def to_instant(when: datetime) -> int:
    """Return a time as microseconds since 1970. Raises TypeError for a time without a zone."""
    return (when - _EPOCH) // _MICROSECOND


def of_instant(value: int) -> datetime:
    """Return the time of microseconds since 1970: aware UTC, moved into the years 2 to 9000 if it is outside."""
    return _EPOCH + timedelta(microseconds=value if _FIRST <= value <= _LAST else max(_FIRST, min(_LAST, value)))


def to_instant_or_none(when: datetime | None) -> int | None:
    """Return what `to_instant` does; None for None."""
    return None if when is None else (when - _EPOCH) // _MICROSECOND


def of_instant_or_none(value: int | None) -> datetime | None:
    """Return what `of_instant` does; None for None."""
    return None if value is None else of_instant(value)


def _to_span(span: timedelta | None) -> int | None:
    return None if span is None else span // _MICROSECOND


def _of_span(value: int | None) -> timedelta | None:
    return None if value is None else timedelta(microseconds=value)


def _storable(text: str | None) -> str | None:
    """Return a job's text with U+FFFD for what no database takes: NUL, and unpaired surrogates."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def _checkpoint_values(checkpoint: Checkpoint | None) -> _Values | None:
    if checkpoint is None:
        return None
    return {
        "at": to_instant(checkpoint.at),
        "step": checkpoint.step,
        "path": checkpoint.path,
        "source": checkpoint.source.value,
    }


def _checkpoint_of(value: Mapping[str, Any] | None) -> Checkpoint | None:
    if value is None:
        return None
    # Older versions knew only checkpoints that jobs reported, and did not write the source.
    source = Source(value.get("source", Source.TOLD))
    return Checkpoint(at=of_instant(value["at"]), step=value["step"], path=value["path"], source=source)


def _notice_values(notice: Notice | None) -> _Values | None:
    if notice is None:
        return None
    return {
        "reason": notice.reason.value,
        "at": to_instant(notice.at),
        "deadline": to_instant(notice.deadline),
        "limit": to_instant(notice.limit),
        "beneficiary": notice.beneficiary,
        "revision": notice.revision,
    }


def _notice_of(value: Mapping[str, Any] | None) -> Notice | None:
    if value is None:
        return None
    return Notice(
        reason=Reason(value["reason"]),
        at=of_instant(value["at"]),
        deadline=of_instant(value["deadline"]),
        limit=of_instant(value["limit"]),
        beneficiary=value["beneficiary"],
        revision=value["revision"],
    )


def _rank_values(rank: Rank) -> _Values:
    return {
        "rank": rank.rank,
        "node": rank.node,
        "gpus": list(rank.gpus),
        "state": rank.state.value,
        "exit_code": rank.exit_code,
        "signal": rank.signal,
        "ended_at": to_instant_or_none(rank.ended_at),
        "notified_at": to_instant_or_none(rank.notified_at),
        "signalled": rank.signalled,
        "caught": rank.caught,
        "done": rank.done,
        "message": rank.message,
        "unstarted": rank.unstarted.value if rank.unstarted is not None else None,
        "watched": rank.watched,
        "supervisor_killed": rank.supervisor_killed,
        "idle_gpus_since": to_instant_or_none(rank.idle_gpus_since),
        "summary": usage_values(rank.summary),
    }


def _rank_of(value: Mapping[str, Any]) -> Rank:
    return Rank(
        rank=value["rank"],
        node=value["node"],
        # Older versions gave whole nodes only and did not write GPUs.
        gpus=tuple(value.get("gpus", ())),
        state=_RANK_STATES[value["state"]],
        exit_code=value["exit_code"],
        signal=value.get("signal"),
        ended_at=of_instant_or_none(value.get("ended_at")),
        notified_at=of_instant_or_none(value["notified_at"]),
        signalled=value.get("signalled"),
        caught=value.get("caught"),
        done=value["done"],
        message=value["message"],
        # Older versions did not write it.
        unstarted=_BLAMES[value.get("unstarted")],
        watched=value.get("watched"),
        supervisor_killed=value.get("supervisor_killed", False),
        idle_gpus_since=of_instant_or_none(value.get("idle_gpus_since")),
        summary=usage_of(value.get("summary")),
    )


def _signal_values(signal: Signal | None) -> _Values | None:
    return None if signal is None else {"name": signal.name.name, "before": _to_span(signal.before)}


def _signal_of(value: Mapping[str, Any] | None) -> Signal | None:
    return None if value is None else Signal(name=SignalName[value["name"]], before=_of_span(value["before"]))


def _retry_values(retry: Retry | None) -> _Values | None:
    if retry is None:
        return None
    return {"count": retry.count, "backoff": _to_span(retry.backoff), "exit_codes": sorted(retry.exit_codes)}


def _retry_of(value: Mapping[str, Any] | None) -> Retry | None:
    if value is None:
        return None
    return Retry(
        count=value["count"],
        backoff=timedelta(microseconds=value["backoff"]),
        exit_codes=frozenset(value["exit_codes"]),
    )


def task_values(task: Task) -> _Values:
    """Return the columns of a task without id, version and idempotency key, which the store sets."""
    return {
        "name": task.name,
        "user_name": task.user,
        "group_name": task.group,
        "priority": None if task.priority is None else task.priority.value,
        "nodes": task.nodes,
        "submitted_at": to_instant(task.submitted_at),
        "waiting_since": to_instant(task.waiting_since),
        "gpus": task.gpus,
        "profile": task.profile.value,
        "signal": _signal_values(task.signal),
        "grace": _to_span(task.grace),
        "time_limit": _to_span(task.time_limit),
        "state": task.state.value,
        "ended": task.state.ended,
        "held": task.held,
        "custom_rank": task.custom_rank,
        "run_number": None if task.run is None else task.run.number,
        "served": _to_span(task.served),
        "suspensions": task.suspensions,
        "unsaved": task.unsaved,
        "avoid": sorted(task.avoid) or None,
        "promise": sorted(task.promise) or None,
        "failed_starts": task.failed_starts,
        "retry": _retry_values(task.retry),
        "retries": task.retries,
        "not_before": to_instant_or_none(task.not_before),
        "rotations": [to_instant(when) for when in task.rotations] or None,
        "leaving_took": _to_span(task.leaving_took),
        "starting_took": _to_span(task.starting_took),
        "checkpoint": _checkpoint_values(task.checkpoint),
        "job_state": _storable(task.job_state),
        "reason": None if task.reason is None else task.reason.value,
        "ended_at": to_instant_or_none(task.ended_at),
    }


def task_of(row: Row[Any], run: Run | None) -> Task:
    """Return the task of a row that has the columns of `tables.TASKS` under their own names."""
    return Task(
        id=row.id,
        name=row.name,
        user=row.user_name,
        group=row.group_name,
        priority=_PRIORITIES[row.priority],
        nodes=row.nodes,
        submitted_at=of_instant(row.submitted_at),
        waiting_since=of_instant(row.waiting_since),
        gpus=row.gpus,
        profile=_PROFILES[row.profile],
        signal=_signal_of(row.signal),
        grace=timedelta(microseconds=row.grace),
        time_limit=_of_span(row.time_limit),
        state=_STATES[row.state],
        held=row.held,
        custom_rank=row.custom_rank,
        run=run,
        served=timedelta(microseconds=row.served),
        suspensions=row.suspensions,
        unsaved=row.unsaved,
        avoid=frozenset(row.avoid or ()),
        promise=frozenset(row.promise or ()),
        failed_starts=row.failed_starts,
        retry=_retry_of(row.retry),
        retries=row.retries,
        not_before=of_instant_or_none(row.not_before),
        rotations=tuple([of_instant(when) for when in row.rotations or ()]),
        leaving_took=_of_span(row.leaving_took),
        starting_took=_of_span(row.starting_took),
        checkpoint=_checkpoint_of(row.checkpoint),
        job_state=row.job_state,
        reason=_REASONS[row.reason],
        ended_at=of_instant_or_none(row.ended_at),
        version=row.version,
    )


def run_values(task_id: TaskId, run: Run) -> _Values:
    """Return all columns of a run."""
    return {
        "task_id": task_id,
        "number": run.number,
        "run_id": run.id,
        "ranks": [_rank_values(rank) for rank in run.ranks],
        "priority": run.priority.value,
        "started_at": to_instant(run.started_at),
        "running_at": to_instant_or_none(run.running_at),
        "ended_at": to_instant_or_none(run.ended_at),
        "notice": _notice_values(run.notice),
        "killed_at": to_instant_or_none(run.killed_at),
        "done": run.done,
        "checkpoint": _checkpoint_values(run.checkpoint),
        "reason": None if run.reason is None else run.reason.value,
        "left": None if run.left is None else run.left.value,
        "lost": _to_span(run.lost),
        "failed_ranks": list(run.failed_ranks),
        "origin": None if run.origin is None else str(run.origin),
        "haienv": _pin_values(run.haienv),
        "summary": usage_values(run.summary),
    }


def run_of(columns: Sequence[Any]) -> Run:
    """Return the run of the columns of `tables.RUNS`, in their order."""
    _, number, run_id, ranks, priority, started, running, ended, notice, killed, done, saved, *rest = columns
    reason, left, lost, failed, origin, haienv, summary = rest
    return Run(
        id=RunId(run_id),
        number=number,
        ranks=tuple(_rank_of(rank) for rank in ranks),
        priority=Priority(priority),
        started_at=of_instant(started),
        running_at=of_instant_or_none(running),
        ended_at=of_instant_or_none(ended),
        notice=_notice_of(notice),
        killed_at=of_instant_or_none(killed),
        done=done,
        checkpoint=_checkpoint_of(saved),
        reason=_REASONS[reason],
        left=_LEFT[left],
        lost=_of_span(lost),
        failed_ranks=_failed_ranks_of(failed, reason, ranks),
        origin=Origin.parse(origin),
        haienv=pin_of(haienv),
        summary=usage_of(summary),
    )


def _failed_ranks_of(
    value: Sequence[int] | None, reason: str | None, ranks: Sequence[Mapping[str, Any]]
) -> tuple[int, ...]:
    """Return the failed ranks; older versions did not write them: then all ranks of a failed run with a status."""
    if value is not None:
        return tuple(value)
    return tuple([rank["rank"] for rank in ranks if rank["exit_code"]]) if reason == Reason.FAILED.value else ()


def _pin_values(pin: Pin | None) -> _Values | None:
    if pin is None:
        return None
    return {
        "name": pin.name,
        "generation": pin.generation,
        "digest": pin.digest,
        "interpreter": pin.interpreter,
        "python": pin.python,
        "flavour": pin.flavour,
        "latest": pin.latest,
        "variables": dict(pin.variables),
    }


def pin_of(value: Mapping[str, Any] | None) -> Pin | None:
    """Return the pin of a column `haienv`; None for NULL."""
    return None if value is None else Pin(**value)


def _snapshot_values(snapshot: CodeSnapshot | None) -> _Values | None:
    if snapshot is None:
        return None
    return {
        "digest": snapshot.digest,
        "files": snapshot.files,
        "size": snapshot.size,
        "commit": snapshot.commit,
        "dirty": snapshot.dirty,
    }


def spec_values(task_id: TaskId, spec: TaskSpec) -> _Values:
    """Return all columns of a spec."""
    return {
        "task_id": task_id,
        "command": list(spec.command),
        "cwd": spec.cwd,
        "env": dict(spec.env),
        "ranks_per_node": spec.ranks_per_node,
        "checkpoint_dir": spec.checkpoint_dir,
        "watch": list(spec.watch),
        "tags": list(spec.tags),
        "environment": spec.environment,
        "haienv": _pin_values(spec.haienv),
        "snapshot": _snapshot_values(spec.snapshot),
        "image": spec.image,
    }


def spec_of(row: Row[Any]) -> TaskSpec:
    """Return the spec of a row of `tables.SPECS`."""
    return TaskSpec(
        command=tuple(row.command),
        cwd=row.cwd,
        env=dict(row.env),
        ranks_per_node=row.ranks_per_node,
        checkpoint_dir=row.checkpoint_dir,
        # Older versions did not write it.
        watch=tuple(row.watch or ()),
        tags=tuple(row.tags),
        environment=row.environment,
        haienv=pin_of(row.haienv),
        snapshot=None if row.snapshot is None else CodeSnapshot(**row.snapshot),
        image=row.image,
    )


def event_values(event: HistoryEvent) -> _Values:
    """Return the columns of an event without seq, which the store gives."""
    return {
        "at": to_instant(event.at),
        # As plain text, because drivers treat enumerations in different ways.
        "kind": str(event.kind),
        "actor": event.actor,
        "user_name": event.user,
        "task_id": event.task_id,
        "data": dict(event.data),
    }


def event_of(row: Row[Any]) -> HistoryEvent:
    """Return the event of a row of `tables.EVENTS`."""
    return HistoryEvent(
        seq=row.seq,
        at=of_instant(row.at),
        kind=row.kind,
        actor=row.actor,
        user=row.user_name,
        task_id=row.task_id,
        data=row.data,
    )
