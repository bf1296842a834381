"""Rewrites the traces of all processes of a recording so that they are one trace, which Perfetto opens.

The result is one stream of gzip, made of pieces: each trace is a piece, so that no more than one is held at once.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from hai_scheduler.core.profiling.trace_reading import NAME, TraceContent, base_time, is_time, raw_events

#: The most that is merged: compressed bytes of all traces together, and processes.
MOST_MERGED: Final = 64 * 1024 * 1024
MOST_MERGED_PROCESSES: Final = 400
#: Ids of processes lie this far apart from trace to trace. Perfetto's ids have 32 bits, those of Linux up to 22.
APART: Final = 10**7
#: The same for what joins events, such as a launch and its kernel.
_JOINTS_APART: Final = 1 << 40
#: Where Perfetto shows the processes of a trace, by what PyTorch asks for: first the program, then its GPUs.
_GPUS_FROM: Final = 5_000_000
_PLACES: Final = 1000
#: Deflate without effort: what is sent is read once.
_LEVEL: Final = 4
_BATCH: Final = 4096
#: The head of a gzip stream without a name or a time, and a piece of it that holds nothing.
GZIP_HEAD: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
EMPTY_PIECE: Final = b"\x00\x00\x00\xff\xff"


@dataclass(frozen=True, slots=True)
class Running:
    """What is known of the text so far: its checksum and length, and what its times count from, in nanoseconds."""

    crc: int = 0
    size: int = 0
    base: int | None = None


@dataclass(frozen=True, slots=True)
class MergedPiece:
    """A piece of the stream, compressed, and what is known of the text up to its end."""

    data: bytes
    running: Running


def head_piece() -> MergedPiece:
    """The beginning of a merged trace, with the head of the stream."""
    packed, running = _packed([b'{"traceEvents": [\n'], Running())
    return MergedPiece(GZIP_HEAD + packed, running)


def trace_piece(data: bytes, running: Running, *, label: str, prefix: int) -> MergedPiece:
    """The events of one trace as a piece.

    Ids of its processes begin with the prefix, their names with the label, and its times count from what those of the
    first trace count from.

    Args:
        data: The trace, compressed with gzip.
        running: What is known of the text before it.
        label: What its processes are called: `rank 3`.
        prefix: A number that no other trace has, below `MOST_MERGED_PROCESSES`.

    Raises:
        NoTrace: The trace cannot be read; there is no piece of it then.
    """
    own = base_time(data)
    base = own if running.base is None else running.base
    shift = (own - base) / 1000
    events = _texts(data, label, prefix, shift)
    packed, after = _packed(events, running)
    return MergedPiece(packed, Running(after.crc, after.size, base))


def missing_piece(running: Running, *, label: str, prefix: int, why: str) -> MergedPiece:
    """A trace that cannot be part of it, as a process without events that says why."""
    note = {"name": f"{label} is left out: {why}"}
    event = {"ph": "M", "name": "process_name", "pid": prefix * APART, "tid": 0, "ts": 0, "args": note}
    packed, after = _packed([json.dumps(event).encode() + b",\n"], running)
    return MergedPiece(packed, after)


def end_piece(running: Running, *, name: str) -> bytes:
    """The end of a merged trace, and of the stream."""
    # The last event has no comma behind it.
    last = {"ph": "M", "name": "trace_name", "pid": 0, "args": {"name": name}}
    rest = {"displayTimeUnit": "ms", "baseTimeNanoseconds": running.base or 0, "traceName": name}
    packed, after = _packed([json.dumps(last).encode() + b"\n], " + json.dumps(rest)[1:].encode()], running)
    closing = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS).flush()
    return packed + closing + after.crc.to_bytes(4, "little") + (after.size & 0xFFFFFFFF).to_bytes(4, "little")


def _packed(texts: list[bytes] | Iterator[bytes], running: Running) -> tuple[bytes, Running]:
    """Compress texts so that any other piece may follow."""
    machine = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    crc, size, made = running.crc, running.size, bytearray()
    for text in texts:
        crc, size = zlib.crc32(text, crc), size + len(text)
        made += machine.compress(text)
    made += machine.flush(zlib.Z_FULL_FLUSH)
    return bytes(made), Running(crc, size, running.base)


def _texts(data: bytes, label: str, prefix: int, shift: float) -> Iterator[bytes]:
    batch: list[str] = []
    for event in raw_events(data, TraceContent()):
        if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
            continue
        try:
            batch.append(json.dumps(_moved(event, label, prefix, shift), separators=(",", ":"), allow_nan=False))
        except ValueError:
            continue  # a number beyond all numbers, which JSON has no word for
        if len(batch) >= _BATCH:
            yield _joined(batch)
            batch = []
    if batch:
        yield _joined(batch)


def _joined(batch: list[str]) -> bytes:
    return (",\n".join(batch) + ",\n").encode("ascii")


def _moved(event: dict[str, Any], label: str, prefix: int, shift: float) -> dict[str, Any]:
    """The event among those of other processes."""
    pid = event.get("pid")
    if isinstance(pid, str):
        event["pid"] = f"{label}: {pid[:NAME]}"
    else:
        event["pid"] = prefix * APART + (pid % APART if isinstance(pid, int) else 0)
    for name in ("id", "bind_id"):
        joint = event.get(name)
        if isinstance(joint, int):
            event[name] = prefix * _JOINTS_APART + joint % _JOINTS_APART
        elif isinstance(joint, str):
            event[name] = f"{prefix}.{joint[:NAME]}"
    at = event.get("ts")
    if shift and is_time(at):
        event["ts"] = round(at + shift, 3)
    if event["ph"] == "M" and isinstance(event.get("args"), dict):
        _name(event, event["args"], label, prefix)
    return event


def _name(event: dict[str, Any], arguments: dict[str, Any], label: str, prefix: int) -> None:
    if event.get("name") == "process_name":
        arguments["name"] = f"{label}: {str(arguments.get('name', ''))[:NAME]}"
    elif event.get("name") == "process_sort_index":
        wanted = arguments.get("sort_index")
        gpu = wanted - _GPUS_FROM + 1 if isinstance(wanted, int) and wanted >= _GPUS_FROM else 0
        arguments["sort_index"] = prefix * _PLACES + min(gpu, _PLACES - 1)
