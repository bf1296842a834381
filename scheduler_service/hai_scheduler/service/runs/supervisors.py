"""The versions of the supervisors of runs, as they say them with each request."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping
from typing import Final

from hai_client.skew import numbers
from hai_scheduler.core.model.ids import RunId

#: Runs that are remembered, those that were heard last: more than a cluster has at once.
_MOST: Final = 20_000


class Supervisors:
    """What this process has heard. A supervisor asks at least once a minute, so all are heard soon after a start."""

    def __init__(self) -> None:
        self._heard: OrderedDict[RunId, str] = OrderedDict()

    def hear(self, run: RunId, version: str | None) -> None:
        """Remember what a run has said. What is no version is not: the code of a task can send anything as its run."""
        found = numbers(version)
        if found is None:
            return
        self._heard[run] = "{}.{}.{}".format(*found)
        self._heard.move_to_end(run)
        if len(self._heard) > _MOST:
            self._heard.popitem(last=False)

    def of(self, runs: Collection[RunId]) -> Mapping[str | None, int]:
        """Return how many of these runs have each version; None: not heard."""
        return Counter(map(self._heard.get, runs))
