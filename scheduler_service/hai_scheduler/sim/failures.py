"""Failures of nodes, at the rates that were published for Fire-Flyer 2."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

#: Hardware failures of October 2023 to March 2024 by kind, all nodes together: arXiv 2408.14158, table VII.
#: Table VI's Xid errors of NVLink (74) and of software (13, 31, 43, 45) are not among them: they end commands.
FIREFLYER_FAILURES = {
    "main memory ECC": 54,
    "network": 89,
    "Xid 63": 120,
    "Xid 64": 1,
    "Xid 79": 15,
    "Xid 94": 7,
    "Xid 95": 6,
}
#: The nodes of that cluster (section III), and the days of those six months.
FIREFLYER_NODES = 1250
FIREFLYER_DAYS = 183
#: Failures of one node in a day.
FIREFLYER_RATE = sum(FIREFLYER_FAILURES.values()) / (FIREFLYER_NODES * FIREFLYER_DAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureModel:
    """A model in which nodes fail independently of each other, at a constant rate, for a fixed time."""

    #: Failures of one node in a day.
    rate: float = FIREFLYER_RATE
    #: How long a node that failed is gone, and how long a quarantine lasts.
    repair: timedelta = timedelta(hours=4)
    seed: int = 0

    def failures(self, begin: datetime, nodes: Sequence[str]) -> Iterator[tuple[datetime, str]]:
        """Yield times and names of failing nodes, in order of time, without end. Equal seeds give equal failures."""
        chance = random.Random(self.seed)  # noqa: S311  # failures are no secret
        at = begin
        while True:
            at += timedelta(days=chance.expovariate(self.rate * len(nodes)))
            yield at, nodes[chance.randrange(len(nodes))]
