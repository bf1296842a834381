"""Endpoints on recordings of running tasks."""

from __future__ import annotations

from hai_scheduler.api.convert import profiles as convert
from hai_scheduler.api.server.problems import Refused, gone
from hai_scheduler.api.server.route import Ask, Pieces, RawBytes, Text
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.profiles import (
    RanksQuery,
    RecordedIn,
    RecordingList,
    RecordingOut,
    RecordingSubmit,
    TracePieceQuery,
    TracePieceTaken,
)
from hai_scheduler.ports.errors import OffsetMismatch
from hai_scheduler.service.shared.errors import Conflict


async def order(ask: Ask[Nothing, RecordingSubmit]) -> RecordingOut:
    """Order a recording."""
    task, recording = await ask.platform.profiling.recordings.order(
        ask.caller, ask.path["task"], convert.wish_of(ask.body)
    )
    return convert.recording_out(task, recording)


async def show_all(ask: Ask[Nothing, Nothing]) -> RecordingList:
    """Return the recordings of a task."""
    task, found = await ask.platform.profiling.recordings.all_of(ask.caller, ask.path["task"])
    return RecordingList(items=[convert.recording_out(task, one) for one in found])


async def show(ask: Ask[Nothing, Nothing]) -> RecordingOut:
    """Return a recording, with what its traces say once all ranks have ended."""
    number = ask.number("profile")
    task, recording = await ask.platform.profiling.recordings.show(ask.caller, ask.path["task"], number)
    return convert.recording_out(task, recording)


async def remove(ask: Ask[Nothing, Nothing]) -> None:
    """Delete a recording."""
    await ask.platform.profiling.recordings.remove(ask.caller, ask.path["task"], ask.number("profile"))


async def trace(ask: Ask[Nothing, Nothing]) -> Text:
    """Return a trace as it is stored."""
    body = await ask.platform.profiling.recordings.trace(
        ask.caller,
        ask.path["task"],
        ask.number("profile"),
        ask.number("rank"),
        ask.number("trace"),
    )
    return Text(body, "application/gzip")


async def all_traces(ask: Ask[RanksQuery, Nothing]) -> Pieces:
    """Return the traces of all ranks as one."""
    number, ranks = ask.number("profile"), ask.query.ranks
    chosen = None if ranks is None else [int(rank) for rank in ranks.split(",")]
    pieces = await ask.platform.profiling.recordings.all_traces(ask.caller, ask.path["task"], number, chosen)
    return Pieces(pieces, "application/gzip", f"recording-{number}.json.gz")


async def take_piece(ask: Ask[TracePieceQuery, RawBytes]) -> TracePieceTaken:
    """Store a piece of a trace. Raises Refused: 409 with the right offset if it does not fit."""
    try:
        end = await ask.platform.profiling.intake.take_piece(
            ask.run,
            ask.number("rank"),
            ask.number("profile"),
            ask.number("trace"),
            offset=ask.query.offset,
            data=bytes(ask.body),
        )
    except Conflict as error:
        raise gone(error) from None
    except OffsetMismatch as error:
        detail = f"The trace goes on at {error.expected}, not at {ask.query.offset}: send it from there."
        raise Refused("conflict", detail, {"Upload-Offset": str(error.expected)}) from None
    return TracePieceTaken(next=end)


async def finish(ask: Ask[Nothing, RecordedIn]) -> None:
    """Note the end of a rank's recording."""
    number = ask.number("profile")
    try:
        await ask.platform.profiling.intake.finish(ask.run, ask.number("rank"), number, convert.recorded_of(ask.body))
    except Conflict as error:
        raise gone(error) from None
