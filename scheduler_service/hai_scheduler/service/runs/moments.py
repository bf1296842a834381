"""The moment when all ranks of a run send the signals of its notice: shortly after the first of them gets it."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.model.ids import RunId

#: How far ahead the moment is: enough time for the last rank to get the notice and to look at its processes.
#: Supervisors never wait longer than that, even if their clocks differ (`hai_client.rank.notices.moment`).
LEAD: Final = timedelta(milliseconds=50)
#: How many moments are kept, of the latest runs.
_KEPT: Final = 4096


class Moments:
    """The moments of the runs whose ranks ask this process.

    They are not stored: each replica chooses its own, and two replicas differ by as much as the delay of the bus.
    """

    def __init__(self) -> None:
        self._moments: OrderedDict[RunId, datetime] = OrderedDict()

    def of(self, run_id: RunId, now: datetime) -> datetime:
        """The moment of the run: chosen when the first rank asks, and the same for all ranks."""
        if run_id not in self._moments:
            self._moments[run_id] = now + LEAD
            while len(self._moments) > _KEPT:
                self._moments.popitem(last=False)
        return self._moments[run_id]
