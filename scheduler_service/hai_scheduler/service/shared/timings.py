"""The timings of one process: how long the database and the cluster take to answer it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hai_scheduler.core.tallies.families import CLUSTER, DATABASE
from hai_scheduler.core.tallies.tallies import Tallies


@dataclass(frozen=True, slots=True)
class ProcessTimings:
    """Implements the port `Timings` on tallies; `process` is `loop` or `api`."""

    process: str
    tallies: Tallies = field(default_factory=Tallies)

    def database(self, op: str, seconds: float) -> None:
        """Count a statement of the database."""
        self.tallies.observe(DATABASE, (self.process, op), seconds)

    def cluster(self, verb: str, code: str, seconds: float) -> None:
        """Count a request to the cluster."""
        self.tallies.observe(CLUSTER, (self.process, verb, code), seconds)
