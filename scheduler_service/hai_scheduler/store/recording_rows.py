"""Converts rows of recordings into values and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Row

from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.profiling.recordings import (
    PartState,
    ProcessStack,
    ProcessTrace,
    Recording,
    RecordingKind,
    RecordingPart,
)
from hai_scheduler.store.rows import of_instant, to_instant


def recording_values(recording: Recording) -> dict[str, Any]:
    """Return all columns of a recording but its number."""
    return {
        "task_id": recording.task_id,
        "run_id": recording.run_id,
        "user_name": recording.user,
        "size": recording.size,
        "data": {
            "by": recording.by,
            "kind": recording.kind.value,
            "at": to_instant(recording.at),
            "starts_at": to_instant(recording.starts_at),
            "seconds": recording.seconds,
            "steps": recording.steps,
            "memory": recording.memory,
            "parts": [{**asdict(part), "state": part.state.value} for part in recording.parts],
        },
    }


def recording_of(row: Row[Any]) -> Recording:
    """Return the recording of a row of `tables.RECORDINGS`."""
    data = row.data
    return Recording(
        id=row.id,
        task_id=TaskId(row.task_id),
        run_id=RunId(row.run_id),
        user=row.user_name,
        by=data["by"],
        kind=RecordingKind(data["kind"]),
        at=of_instant(data["at"]),
        starts_at=of_instant(data["starts_at"]),
        seconds=data["seconds"],
        steps=data["steps"],
        memory=data["memory"],
        parts=tuple(map(_part_of, data["parts"])),
    )


def _part_of(data: dict[str, Any]) -> RecordingPart:
    return RecordingPart(
        rank=data["rank"],
        node=data["node"],
        state=PartState(data["state"]),
        message=data["message"],
        traces=tuple(ProcessTrace(**one) for one in data["traces"]),
        stacks=tuple(ProcessStack(**one) for one in data["stacks"]),
    )
