"""What a trace says, in some dozens of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from hai_scheduler.core.profiling.phases import Phases, find_phases
from hai_scheduler.core.profiling.trace_reading import CPU_OP, KERNEL, NoTrace, TraceEvent, read_trace

#: Operators that are shown.
OPERATORS: Final = 20
_SECOND: Final = 1e6


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """One operator, or kernel of a GPU: how often it ran, and its time without operators inside it, seconds."""

    name: str
    calls: int
    self_s: float
    #: The part of it in the time of all operators.
    share: float


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """What the trace of one process says; lengths of time are seconds."""

    process_rank: int | None
    world: int | None
    #: `cpu` or `gpu`.
    device: str
    seconds: float
    steps: int
    step_s: float
    #: The mean of each phase in a step.
    phases: dict[str, float]
    gpu_busy: float | None
    operators: tuple[OperatorTime, ...]
    notes: tuple[str, ...]


def summary_of(data: bytes) -> TraceSummary:
    """Sum up a trace that is compressed with gzip. Raises NoTrace."""
    content = read_trace(data)
    phases = find_phases(content.events)
    if phases is None:
        raise NoTrace("nothing was computed while it was recorded: no operator of PyTorch is in it")
    begin, end = min(one.start for one in content.events), max(one.end for one in content.events)
    parts = max(1, phases.steps)
    return TraceSummary(
        process_rank=content.process_rank,
        world=content.world,
        device="gpu" if phases.on_gpu else "cpu",
        seconds=(end - begin) / _SECOND,
        steps=phases.steps,
        step_s=(phases.window[1] - phases.window[0]) / _SECOND / parts,
        phases={name: length / _SECOND / parts for name, length in phases.lengths.items()},
        gpu_busy=phases.gpu_busy,
        operators=tuple(_operators(content.events, gpu=phases.on_gpu)),
        notes=tuple(_notes(phases, cut=content.cut)),
    )


def _notes(phases: Phases, *, cut: bool) -> Iterable[str]:
    if not phases.steps:
        yield "fewer than two calls of an optimizer were seen: the phases are those of the whole trace, not of a step"
    if cut:
        yield "the trace was too long to be read to its end: the numbers are of its beginning"


def _operators(events: Sequence[TraceEvent], *, gpu: bool) -> list[OperatorTime]:
    calls: dict[str, int] = {}
    own: dict[str, float] = {}
    pairs = ((one.name, one.end - one.start) for one in events if one.kind == KERNEL) if gpu else _self_times(events)
    for name, length in pairs:
        calls[name] = calls.get(name, 0) + 1
        own[name] = own.get(name, 0.0) + length
    total = sum(own.values()) or 1.0
    first = sorted(own, key=lambda name: (-own[name], name))[:OPERATORS]
    return [OperatorTime(name, calls[name], own[name] / _SECOND, own[name] / total) for name in first]


def _self_times(events: Sequence[TraceEvent]) -> Iterable[tuple[str, float]]:
    """The operators with their times, without those of operators that they call."""
    threads: dict[str, list[TraceEvent]] = {}
    for event in events:
        if event.kind == CPU_OP:
            threads.setdefault(event.thread, []).append(event)
    for own in threads.values():
        own.sort(key=lambda event: (event.start, -event.end))
        inside: list[float] = [0.0] * len(own)
        open_: list[int] = []
        for number, event in enumerate(own):
            while open_ and own[open_[-1]].end <= event.start:
                open_.pop()
            if open_:
                inside[open_[-1]] += event.end - event.start
            open_.append(number)
        for event, length in zip(own, inside, strict=True):
            yield event.name, max(0.0, event.end - event.start - length)
