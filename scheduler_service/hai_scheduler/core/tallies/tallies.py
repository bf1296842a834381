"""Counters and histograms by family and labels. They only grow."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from hai_scheduler.core.tallies.families import FAMILIES, MOST_SERIES, OTHER, Family

Labels = tuple[str, ...]


@dataclass(slots=True)
class Histogram:
    """How many values fell into each bucket, and their sum. The last bucket has no upper bound."""

    counts: list[int]
    total: float = 0.0

    def copy(self) -> Histogram:
        """Return a histogram that can be changed apart from this one."""
        return Histogram(self.counts.copy(), self.total)


@dataclass(slots=True)
class Tallies:
    """All counters and histograms of one process, or of the platform."""

    counters: dict[str, dict[Labels, float]] = field(default_factory=dict)
    histograms: dict[str, dict[Labels, Histogram]] = field(default_factory=dict)

    def add(self, family: Family, labels: Labels, value: float) -> None:
        """Add to a counter. A value below 0 counts as 0."""
        found = self.counters.setdefault(family.name, {})
        key = _bounded(found, labels)
        found[key] = found.get(key, 0.0) + max(0.0, value)

    def observe(self, family: Family, labels: Labels, seconds: float) -> None:
        """Count a value in a histogram. A value below 0 counts as 0."""
        seconds = max(0.0, seconds)
        histogram = self._histogram(family, labels)
        histogram.counts[bisect_left(family.bounds, seconds)] += 1
        histogram.total += seconds

    def absorb(self, other: Tallies) -> None:
        """Add all values of `other`."""
        for name, values in other.counters.items():
            for labels, value in values.items():
                self.add(FAMILIES[name], labels, value)
        for name, histograms in other.histograms.items():
            for labels, more in histograms.items():
                histogram = self._histogram(FAMILIES[name], labels)
                histogram.counts = [one + two for one, two in zip(histogram.counts, more.counts, strict=True)]
                histogram.total += more.total

    def drain(self) -> Tallies:
        """Return all values, and begin at 0."""
        drained = Tallies(self.counters, self.histograms)
        self.counters, self.histograms = {}, {}
        return drained

    def copy(self) -> Tallies:
        """Return tallies that can be changed apart from these."""
        return Tallies(
            {name: values.copy() for name, values in self.counters.items()},
            {name: {key: each.copy() for key, each in values.items()} for name, values in self.histograms.items()},
        )

    def _histogram(self, family: Family, labels: Labels) -> Histogram:
        found = self.histograms.setdefault(family.name, {})
        key = _bounded(found, labels)
        histogram = found.get(key)
        if histogram is None:
            histogram = found[key] = Histogram([0] * (len(family.bounds) + 1))
        return histogram


def _bounded(found: dict[Labels, float] | dict[Labels, Histogram], labels: Labels) -> Labels:
    """Return the labels under which a value is counted: further ones than `MOST_SERIES` are counted together."""
    return labels if labels in found or len(found) < MOST_SERIES else (OTHER,) * len(labels)
