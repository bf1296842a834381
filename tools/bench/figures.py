"""The figures of a benchmark, as a table for people and as JSON for comparison."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure."""

    topic: str
    name: str
    value: float
    unit: str
    note: str = ""
    #: The target, if there is one, and whether it was reached.
    target: str = ""
    reached: bool | None = None


@dataclass(slots=True)
class Report:
    """All figures of a benchmark in order, and the measurements that were left out, with the reason."""

    figures: list[Figure] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        topic: str,
        name: str,
        value: float,
        unit: str,
        note: str = "",
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        """Add a figure and, where there is one, its target."""
        target, reached = "", None
        if at_most is not None:
            target, reached = f"at most {at_most:,g} {unit}".strip(), value <= at_most
        elif at_least is not None:
            target, reached = f"at least {at_least:,g} {unit}".strip(), value >= at_least
        self.figures.append(Figure(topic, name, round(value, 4), unit, note, target, reached))

    def spread(self, topic: str, name: str, seconds: Sequence[float], note: str = "") -> None:
        """Add the median and the 99th percentile, or of few values the maximum; seconds are shown as milliseconds."""
        top, peak = ("p99", percentile(seconds, 99)) if len(seconds) >= 100 else ("max", max(seconds))
        self.add(topic, f"{name}, p50", percentile(seconds, 50) * 1000, "ms", note)
        self.add(topic, f"{name}, {top}", peak * 1000, "ms", f"of {len(seconds)}")

    def skip(self, topic: str, why: str) -> None:
        self.skipped[topic] = why

    def table(self) -> str:
        """The table of all figures, topic by topic."""
        topics: dict[str, list[Figure]] = {}
        for figure in self.figures:
            topics.setdefault(figure.topic, []).append(figure)
        width = max((len(figure.name) for figure in self.figures), default=0)
        lines: list[str] = []
        for topic, figures in topics.items():
            lines += ["", topic]
            for f in figures:
                lines.append(f"  {f.name:<{width}}  {_shown(f.value):>7} {f.unit:<3}  {_remark(f)}".rstrip())
        lines += ["", *(f"left out: {topic}: {why}" for topic, why in self.skipped.items())]
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        return {"figures": [asdict(figure) for figure in self.figures], "left_out": self.skipped}


def say(what: str) -> None:
    """Print a line of progress, with the time of day."""
    print(f"{time.strftime('%H:%M:%S')}  {what} ...", flush=True)


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least `percent` percent of the samples do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def _remark(figure: Figure) -> str:
    if figure.reached is None:
        return figure.note
    word = "reached" if figure.reached else "MISSED"
    return f"[{word}: {figure.target}]  {figure.note}"


def _shown(value: float) -> str:
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.3g}"
