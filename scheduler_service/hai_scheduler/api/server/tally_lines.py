"""Shows tallies to Prometheus: those that the leader keeps in the store, and those of this process."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from hai_scheduler.core.tallies.families import FAMILIES, Family
from hai_scheduler.core.tallies.tallies import Histogram, Tallies


class TallyLines(Collector):
    """Yields every family, also one in which nothing is counted yet."""

    def __init__(self) -> None:
        #: What is shown.
        self.shown = Tallies()

    def collect(self) -> Iterator[Metric]:
        """Yield the families in the order of their table."""
        for family in FAMILIES.values():
            yield self._histograms(family) if family.bounds else self._counters(family)

    def _counters(self, family: Family) -> Metric:
        lines = CounterMetricFamily(family.name, family.meaning, labels=family.labels)
        for labels, value in sorted(self.shown.counters.get(family.name, {}).items()):
            lines.add_metric(labels, value)
        return lines

    def _histograms(self, family: Family) -> Metric:
        lines = HistogramMetricFamily(family.name, family.meaning, labels=family.labels)
        for labels, histogram in sorted(self.shown.histograms.get(family.name, {}).items()):
            lines.add_metric(labels, _buckets(family, histogram), sum_value=histogram.total)
        return lines


def _buckets(family: Family, histogram: Histogram) -> list[tuple[str, float]]:
    """Return how many values are at most as great as each bound, as Prometheus counts."""
    found, below = [], 0
    for bound, count in zip([*map(str, family.bounds), "+Inf"], histogram.counts, strict=True):
        below += count
        found.append((bound, float(below)))
    return found
