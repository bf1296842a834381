"""Converts recordings to models of the wire, and back."""

from __future__ import annotations

from typing import Literal

from hai_scheduler.api.wire.profiles import (
    ProcessTraceOut,
    RecordedIn,
    RecordingOut,
    RecordingPartOut,
    RecordingSubmit,
    RecordingSummaryOut,
    StackOut,
    TraceSummaryOut,
)
from hai_scheduler.api.wire.runs import RecordingOrderOut
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.profiling.gang import Read, sum_up
from hai_scheduler.core.profiling.recordings import (
    PartState,
    ProcessStack,
    ProcessTrace,
    Recording,
    RecordingKind,
    RecordingPart,
)
from hai_scheduler.service.profiling.intake import RankRecorded
from hai_scheduler.service.profiling.recordings import RecordingWish
from hai_scheduler.service.shared.errors import Invalid


def number_of(name: str, text: str) -> int:
    """Return a number of a path. Raises Invalid."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Invalid(name, text, "is not a number")
    return int(text)


def wish_of(body: RecordingSubmit) -> RecordingWish:
    """What a user wants to have recorded."""
    return RecordingWish(
        kind=RecordingKind(body.kind), seconds=body.seconds, steps=body.steps, ranks=body.ranks, memory=body.memory
    )


def order_out(recording: Recording) -> RecordingOrderOut:
    """A recording as its ranks are told."""
    return RecordingOrderOut(
        id=recording.id,
        kind=recording.kind.value,
        starts_ms=int(recording.starts_at.timestamp() * 1000),
        seconds=recording.seconds,
        steps=recording.steps,
        memory=recording.memory,
        most_bytes=recording.rank_bytes,
    )


def recorded_of(body: RecordedIn) -> RankRecorded:
    """The end of a rank's recording, as the rank has sent it."""
    return RankRecorded(
        state=PartState(body.state),
        message=body.message,
        traces=tuple(ProcessTrace(number=one.number, pid=one.pid, name=one.name, size=0) for one in body.traces),
        stacks=tuple(ProcessStack(**one.model_dump()) for one in body.stacks),
    )


def recording_out(task: Task, recording: Recording) -> RecordingOut:
    """A recording as users see it."""
    parts = [_part_out(part) for part in recording.parts]
    return RecordingOut(
        id=recording.id,
        task=task.id,
        run=int(recording.run_id.partition(".")[2]),
        kind=recording.kind.value,
        state=_state(recording),
        by=recording.by,
        at=recording.at,
        starts_at=recording.starts_at,
        ends_by=recording.ends_by,
        seconds=recording.seconds,
        steps=recording.steps,
        memory=recording.memory,
        size=recording.size,
        parts=parts,
        summary=_summary(parts) if recording.over else None,
    )


def _state(recording: Recording) -> Literal["recording", "done", "failed"]:
    if not recording.over:
        return "recording"
    return "done" if any(part.state is PartState.DONE for part in recording.parts) else "failed"


def _part_out(part: RecordingPart) -> RecordingPartOut:
    return RecordingPartOut(
        rank=part.rank,
        node=part.node,
        state=part.state.value,
        message=part.message,
        traces=[_trace_out(trace) for trace in part.traces],
        stacks=[StackOut.model_validate(stack) for stack in part.stacks],
    )


def _trace_out(trace: ProcessTrace) -> ProcessTraceOut:
    summary = None if trace.summary is None else TraceSummaryOut.model_validate_json(trace.summary)
    return ProcessTraceOut(
        number=trace.number, pid=trace.pid, name=trace.name, size=trace.size, summary=summary, fault=trace.fault
    )


def _summary(parts: list[RecordingPartOut]) -> RecordingSummaryOut | None:
    read = [
        Read(
            rank=part.rank,
            trace=trace.number,
            step_s=trace.summary.step_s,
            phases=trace.summary.phases.model_dump(),
            operators=[(one.name, one.calls, one.self_s) for one in trace.summary.operators],
        )
        for part in parts
        for trace in part.traces
        if trace.summary is not None
    ]
    found = sum_up(read)
    return None if found is None else RecordingSummaryOut.model_validate(found)
