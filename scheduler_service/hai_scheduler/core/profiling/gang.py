"""What the traces of all processes of a gang say together, and who is slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any, Final

from hai_scheduler.core.profiling.phases import COMMUNICATION, PHASES
from hai_scheduler.core.profiling.summary import OPERATORS

#: A process is slow if its own part of a step is this much longer than that of the process in the middle.
SLOW: Final = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What the trace of one process says."""

    rank: int
    trace: int
    step_s: float
    #: Seconds of each phase in a step.
    phases: Mapping[str, float]
    #: Name, calls and own seconds of each operator.
    operators: Sequence[tuple[str, int, float]]

    @property
    def own_s(self) -> float:
        """What the process does by itself in a step, seconds: all but waiting for others."""
        return self.step_s - self.phases[COMMUNICATION]


def sum_up(read: Sequence[Read]) -> dict[str, Any] | None:
    """Sum up processes by the names of `RecordingSummaryOut`: means, operators, the slowest one. None without any."""
    if not read:
        return None
    return {
        "processes": len(read),
        "step_s": mean(one.step_s for one in read),
        "phases": {name: mean(one.phases[name] for one in read) for name in PHASES},
        "operators": _operators(read),
        "slowest": _slowest(read),
    }


def _operators(read: Sequence[Read]) -> list[dict[str, Any]]:
    calls: dict[str, int] = {}
    own: dict[str, float] = {}
    for one in read:
        for name, count, seconds in one.operators:
            calls[name] = calls.get(name, 0) + count
            own[name] = own.get(name, 0.0) + seconds
    total = sum(own.values()) or 1.0
    first = sorted(own, key=lambda name: (-own[name], name))[:OPERATORS]
    return [{"name": name, "calls": calls[name], "self_s": own[name], "share": own[name] / total} for name in first]


def _slowest(read: Sequence[Read]) -> dict[str, Any] | None:
    if len(read) < 2:
        return None
    slowest = max(read, key=lambda one: one.own_s)
    others = median(one.own_s for one in read if one is not slowest)
    if slowest.own_s < SLOW * others:
        return None
    return {"rank": slowest.rank, "trace": slowest.trace, "own_s": slowest.own_s, "median_s": others}
