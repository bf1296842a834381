"""Reads the traces that PyTorch's profiler writes, piece by piece, and never more of them than is allowed.

A trace comes from the processes of a user: nothing in it is trusted.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from sys import intern
from typing import Any, Final, TypeGuard

#: Bytes that are taken for decompression at once, and that come out of it at once.
TAKEN: Final = 1 << 16
PIECE: Final = 1 << 20
#: The longest event, and the longest head before the events.
MOST_EVENT: Final = 4 << 20
MOST_HEAD: Final = 8 << 20
#: Bytes of a whole trace, and as many times its compressed bytes beyond the first ones: those of PyTorch become 10 to
#: 30 times as long. What becomes longer by more has nothing to say.
MOST_TRACE: Final = 2 << 30
MOST_RATIO: Final = 64
FREE: Final = 16 << 20
#: Events that are kept of a trace.
MOST_EVENTS: Final = 1_000_000
#: The longest name that is kept.
NAME: Final = 160
#: Kinds of events that are kept.
CPU_OP, ANNOTATION, RUNTIME, KERNEL = "cpu_op", "user_annotation", "cuda_runtime", "kernel"
_KEPT: Final[Mapping[str, str]] = {
    "cpu_op": CPU_OP,
    "user_annotation": ANNOTATION,
    "cuda_runtime": RUNTIME,
    "cuda_driver": RUNTIME,
    "kernel": KERNEL,
    "gpu_memcpy": KERNEL,
    "gpu_memset": KERNEL,
}
_BEGIN: Final = re.compile(r'"traceEvents"\s*:\s*\[')
_BASE_NAME: Final = '"baseTimeNanoseconds"'
_BASE: Final = re.compile(_BASE_NAME + r"\s*:\s*([0-9]{1,19})\s*[,}]")
_SPACE: Final = re.compile(r"[ \t\r\n,]*")


class NoTrace(Exception):
    """The bytes are no trace that can be summed up; the message says why, for the user."""


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One event: its kind, name and thread, its beginning and end in microseconds, and what joins launch and kernel."""

    kind: str
    name: str
    thread: str
    start: float
    end: float
    correlation: int | None = None


@dataclass(slots=True)
class TraceContent:
    """The events of a trace that are kept, and what its head says of the process."""

    events: list[TraceEvent] = field(default_factory=list)
    process_rank: int | None = None
    world: int | None = None
    #: Whether events were left out, because there are too many or the trace breaks off.
    cut: bool = False


def read_trace(data: bytes) -> TraceContent:
    """Read a trace that is compressed with gzip. Raises NoTrace."""
    content = TraceContent()
    for event in raw_events(data, content):
        kept = _event(event)
        if kept is not None:
            content.events.append(kept)
        if len(content.events) >= MOST_EVENTS:
            content.cut = True
            break
    return content


def raw_events(data: bytes, content: TraceContent) -> Iterator[Any]:
    """Yield the events of a trace as they are written there; nothing in them is checked.

    Args:
        data: The trace, compressed with gzip.
        content: Is told what the head says, and whether the trace breaks off.

    Raises:
        NoTrace: The bytes are no trace, or damaged.
    """
    texts = _texts(data, content)
    text = ""
    while (begin := _BEGIN.search(text)) is None:
        more = next(texts, None)
        if more is None or len(text) > MOST_HEAD:
            raise NoTrace("it is no trace of PyTorch's profiler: it has no list of events")
        text += more
    _read_head(text[: begin.start()], content)
    yield from _events(text[begin.end() :], texts, content)


def base_time(data: bytes) -> int:
    """What the times of a trace count from, in nanoseconds since 1970; 0: they are whole times. Raises NoTrace.

    PyTorch writes it before the events or behind them, as its release likes.
    """
    content, before = TraceContent(), ""
    for text in _texts(data, content):
        # A number that begins in one piece may end in the next one.
        if (found := _BASE.search(before[-len(_BASE_NAME) - 40 :] + text)) is not None:
            return int(found[1])
        before = text
    return 0


def _texts(data: bytes, content: TraceContent) -> Iterator[str]:
    """Yield the decompressed text, a piece at a time."""
    machine, total, taken = zlib.decompressobj(31), 0, 0
    most = min(MOST_TRACE, FREE + MOST_RATIO * len(data))
    rest = b""
    while not machine.eof:
        if not rest:
            rest, taken = data[taken : taken + TAKEN], taken + TAKEN
        try:
            piece = machine.decompress(rest, PIECE)
        except zlib.error:
            raise NoTrace("it is damaged: its compression cannot be undone") from None
        rest = machine.unconsumed_tail
        # All input may have been taken while output is still to come.
        if not piece and not rest and taken >= len(data):
            return
        total += len(piece)
        if total > most:
            content.cut = True
            return
        # Names may hold any bytes; in the middle of a character at most three of them are lost.
        yield piece.decode("utf-8", "replace")


def _events(text: str, texts: Iterator[str], content: TraceContent) -> Iterator[Any]:
    decoder, place = json.JSONDecoder(parse_constant=_refuse), 0
    while True:
        # In one step, however much there is: a trace may be nothing else.
        if (spaces := _SPACE.match(text, place)) is not None:
            place = spaces.end()
        if place < len(text):
            if text[place] == "]":
                return
            try:
                event, place = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                if len(text) - place > MOST_EVENT:
                    raise NoTrace("it is damaged: one of its events has no end") from None
            else:
                yield event
                continue
        more = next(texts, None)
        if more is None:
            content.cut = True
            return
        text, place = text[place:] + more, 0


def _refuse(word: str) -> float:
    raise ValueError(word)


def _read_head(head: str, content: TraceContent) -> None:
    at = head.find('"distributedInfo"')
    if at < 0:
        return
    begin = head.find("{", at)
    try:
        found, _ = json.JSONDecoder().raw_decode(head, begin)
    except (ValueError, RecursionError):
        return
    rank, world = found.get("rank"), found.get("world_size")
    if isinstance(rank, int) and isinstance(world, int) and 0 <= rank < world <= 1_000_000:
        content.process_rank, content.world = rank, world


def _event(event: Any) -> TraceEvent | None:
    """Return an event if it is of a kind that is kept, and makes sense."""
    if not isinstance(event, dict) or event.get("ph") != "X":
        return None
    kind, name = event.get("cat"), event.get("name")
    start, length = event.get("ts"), event.get("dur")
    if not isinstance(kind, str) or kind not in _KEPT or not isinstance(name, str):
        return None
    if not (is_time(start) and is_time(length)) or length < 0:
        return None
    arguments = event.get("args")
    joint = arguments.get("correlation") if isinstance(arguments, dict) else None
    return TraceEvent(
        _KEPT[kind],
        intern(name[:NAME]),
        intern(str(event.get("tid"))[:NAME]),
        float(start),
        float(start) + float(length),
        joint if isinstance(joint, int) else None,
    )


def is_time(value: Any) -> TypeGuard[float]:
    """Whether a value of a trace is a time or a length, microseconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18 and isfinite(value)
