"""When all ranks of a run send the signals of its notice: a little after the first of them hears of it."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.model.ids import RunId

#: How far ahead the moment is: longer than it takes until the last rank has heard and has looked at its processes.
#: Supervisors wait no longer than that, whatever their clocks say (`hai_client.rank.moment`).
LEAD: Final = timedelta(milliseconds=50)
#: Moments that are kept: of the runs that were told last.
_KEPT: Final = 4096


class Moments:
    """The moments of the runs that this process tells.

    Nothing of it is stored: each replica chooses its own, and those of two are as far apart as the ring reaches them.
    """

    def __init__(self) -> None:
        self._moments: OrderedDict[RunId, datetime] = OrderedDict()

    def of(self, run_id: RunId, now: datetime) -> datetime:
        """The run's moment: chosen when the first rank asks, the same for all that ask later."""
        if run_id not in self._moments:
            self._moments[run_id] = now + LEAD
            while len(self._moments) > _KEPT:
                self._moments.popitem(last=False)
        return self._moments[run_id]
