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
    RecordingPart,
)
from hai_scheduler.service.profiling.intake import RankRecorded
from hai_scheduler.service.profiling.recordings import RecordingWish


def wish_of(body: RecordingSubmit) -> RecordingWish:
    """What a user wants to have recorded."""
    return RecordingWish(**dict(body))


def order_out(recording: Recording) -> RecordingOrderOut:
    """A recording as its ranks are told."""
    starts_ms = int(recording.starts_at.timestamp() * 1000)
    return RecordingOrderOut.of(recording, starts_ms=starts_ms, most_bytes=recording.rank_bytes)


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
    return RecordingOut.of(
        recording,
        task=task.id,
        run=int(recording.run_id.partition(".")[2]),
        state=_state(recording),
        parts=parts,
        summary=_summary(parts) if recording.over else None,
    )


def _state(recording: Recording) -> Literal["recording", "done", "failed"]:
    if not recording.over:
        return "recording"
    return "done" if any(part.state is PartState.DONE for part in recording.parts) else "failed"


def _part_out(part: RecordingPart) -> RecordingPartOut:
    return RecordingPartOut.of(part, traces=[_trace_out(trace) for trace in part.traces])


def _trace_out(trace: ProcessTrace) -> ProcessTraceOut:
    summary = None if trace.summary is None else TraceSummaryOut.model_validate_json(trace.summary)
    return ProcessTraceOut.of(trace, summary=summary)


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
