"""How often ranks send their metrics: as often as the windows end where few ranks run, and less often where many do."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from hai_scheduler.core.metrics.series import WINDOW_S
from hai_scheduler.core.model.ids import RunId

#: Pieces that this process takes each second at most, in the long run.
BY_SECOND: Final = 10
#: Where more ranks than this send, their pieces wait for one another, for this time, seconds: one transaction for many
#: pieces costs a fraction of one for each.
ALONE: Final = 24
GATHER_S: Final = 1.0
#: After this time without a piece a rank is taken for gone, seconds.
GONE_AFTER_S: Final = 600
#: Runs that somebody looks at are sent at once, for this time after the last look, seconds.
WATCHED_S: Final = 60
#: Ranks of runs that somebody looks at and that are sent at once, at most.
MOST_WATCHED: Final = 128


class Pace:
    """Counts the ranks that send to this process, and spreads their pieces over time."""

    def __init__(self) -> None:
        self._ranks: OrderedDict[tuple[RunId, int], float] = OrderedDict()
        self._watched: dict[RunId, float] = {}

    def watch(self, run_id: RunId, now: float) -> None:
        """Note that somebody looks at a run (`now`: seconds of a steady clock)."""
        self._watched = {run: at for run, at in self._watched.items() if now - at < WATCHED_S}
        self._watched[run_id] = now

    def watched(self, run_id: RunId, now: float) -> bool:
        """Whether somebody looks at a run (`now`: seconds of a steady clock)."""
        return now - self._watched.get(run_id, -WATCHED_S) < WATCHED_S

    def gather(self) -> float:
        """Return how long a piece may wait for others before it is stored, seconds."""
        return GATHER_S if len(self._ranks) > ALONE else 0.0

    def next_after(self, run_id: RunId, rank: int, now: float) -> float:
        """Note a piece of a rank, and return after how many seconds its next one is wanted."""
        self._ranks[run_id, rank] = now
        self._ranks.move_to_end((run_id, rank))
        while self._ranks and now - next(iter(self._ranks.values())) > GONE_AFTER_S:
            self._ranks.popitem(last=False)
        if rank < MOST_WATCHED and self.watched(run_id, now):
            return float(WINDOW_S)
        return max(float(WINDOW_S), len(self._ranks) / BY_SECOND)
