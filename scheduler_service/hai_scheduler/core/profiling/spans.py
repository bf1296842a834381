"""Spans of time on a line, each with a label: joined, laid over each other, and measured."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """A label from `start` to `end`."""

    start: float
    end: float
    label: str


def joined_spans(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The time that any of the spans covers, as spans that neither touch nor overlap, in order."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def covered(spans: Iterable[tuple[float, float]], window: tuple[float, float]) -> float:
    """How much of a window the spans cover together."""
    begin, end = window
    return sum(max(0.0, min(end, last) - max(begin, first)) for first, last in joined_spans(spans))


def laid_over(
    layers: Sequence[tuple[str, Iterable[tuple[float, float]]]], window: tuple[float, float]
) -> list[LabelledSpan]:
    """Split a window by label. Where layers overlap the earlier one counts; what none covers is left out.

    Args:
        layers: Labels with their spans, the one that counts most first. A label may come more than once.
        window: Beginning and end.
    """
    begin, end = window
    free = [(begin, end)] if end > begin else []
    found: list[LabelledSpan] = []
    for label, spans in layers:
        left: list[tuple[float, float]] = []
        cover = joined_spans(spans)
        place = 0
        for first, last in free:
            at = first
            while place < len(cover) and cover[place][1] <= first:
                place += 1
            look = place
            while look < len(cover) and cover[look][0] < last:
                start, stop = max(cover[look][0], at), min(cover[look][1], last)
                if start > at:
                    left.append((at, start))
                found.append(LabelledSpan(start, stop, label))
                at = stop
                look += 1
            if at < last:
                left.append((at, last))
        free = left
    return sorted(found, key=lambda span: span.start)


def with_gaps(
    spans: Sequence[LabelledSpan],
    window: tuple[float, float],
    *,
    short: float,
    idle: str,
    bridging: Mapping[str, float],
) -> list[LabelledSpan]:
    """Give what lies between spans a label, so that the window is covered as a whole.

    Args:
        spans: Spans in order that do not overlap.
        window: Beginning and end.
        short: A gap up to this belongs to the span after it.
        idle: The label of longer gaps.
        bridging: By label: a gap up to this between two spans of that label belongs to them.
    """
    found: list[LabelledSpan] = []
    at, before = window[0], idle
    for span in [*spans, LabelledSpan(window[1], window[1], idle)]:
        gap = span.start - at
        if gap > 0:
            same = before == span.label and gap <= bridging.get(before, 0.0)
            label = span.label if same or (gap <= short and span.label != idle) else before if gap <= short else idle
            found.append(LabelledSpan(at, span.start, label))
        if span.end > span.start:
            found.append(span)
        at, before = max(at, span.end), span.label
    return found


class Ruler:
    """Tells which label a moment has."""

    def __init__(self, spans: Sequence[LabelledSpan]) -> None:
        self._spans = spans
        self._starts = [span.start for span in spans]

    def label_at(self, moment: float) -> str | None:
        """The label of the moment; None where no span is."""
        place = bisect_right(self._starts, moment) - 1
        if place < 0 or moment > self._spans[place].end:
            return None
        return self._spans[place].label


def lengths(spans: Iterable[LabelledSpan]) -> dict[str, float]:
    """The time of each label."""
    found: dict[str, float] = {}
    for span in spans:
        found[span.label] = found.get(span.label, 0.0) + span.end - span.start
    return found
