"""The log of a task as a text file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from hai_scheduler.core.model.run import Run
from hai_scheduler.ports.logs import LogChunk
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.service.logs.lines import REWRITTEN, raws_of, stamp_of
from hai_scheduler.service.logs.log_markers import end_of, lost_bytes, no_log, start_of

#: Reads a piece of the log of a run from an offset; None: there is no log.
Read = Callable[[Run, int], Awaitable[LogChunk | None]]


async def text_of(
    runs: Sequence[Run], read: Read, *, run: int | None = None, times: bool = False
) -> AsyncGenerator[bytes, None]:
    """The log of all runs, or of one, in pieces, as far as it is written by now; lines as the task has printed them.

    Args:
        runs: The runs of the task.
        read: Reads the log.
        run: The number of the only run that is wanted.
        times: Whether each line begins with its time.
    """
    for one in runs:
        if run is None or one.number == run:
            async for piece in _text_of_run(one, runs, read, times=times):
                yield piece


async def _text_of_run(run: Run, runs: Sequence[Run], read: Read, *, times: bool) -> AsyncGenerator[bytes, None]:
    yield _own(start_of(run), run.started_at, times=times)
    offset, end = 0, None
    while end is None or offset < end:
        chunk = await read(run, offset)
        if chunk is None and not run.live:
            yield _own(no_log(run), None, times=times)
        if chunk is None or not chunk.data:
            break
        if end is None:
            # A log that grows as fast as it is read must come to an end.
            end = max(chunk.end, chunk.next)
        if chunk.start > offset:
            yield _own(lost_bytes(run, chunk.start - offset), None, times=times)
        yield await in_reader(partial(_plain, chunk, times))
        offset = chunk.next
    if not run.live:
        yield _own(end_of(run, runs), run.ended_at, times=times)


def _plain(chunk: LogChunk, times: bool) -> bytes:
    lines = (raw.removesuffix(REWRITTEN) for raw, _ in raws_of(chunk))
    return b"".join((line if times else line[stamp_of(line)[1] :]) + b"\n" for line in lines)


def _own(text: str, at: datetime | None, *, times: bool) -> bytes:
    """A line of the platform, as `hai logs` writes it."""
    stamp = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ} " if times and at is not None else ""
    return f"{stamp}[hai] {text}\n".encode()
