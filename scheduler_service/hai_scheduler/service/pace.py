"""How long the loop rests after a tick, so that those who ask get their answers too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

#: Seconds of ticks that may follow each other without a rest: a task that others leave for needs two.
BURST_S: Final = 1.0
#: The longest rest, seconds.
LONGEST_S: Final = 1.0


@dataclass(slots=True)
class Pace:
    """Ticks take half of the process at most, however often they are rung for, but for a burst after a quiet time.

    What a tick wants done after its commit is done beside it (launching.py), while it rests.
    """

    #: Seconds of rest that are owed, and since when none have been paid.
    _owed: float = 0.0
    _since: datetime | None = None

    def rest(self, taken: float, now: datetime) -> float:
        """Seconds to rest now, after a tick of that many seconds."""
        if self._since is not None:
            paid = max(0.0, (now - self._since).total_seconds() - taken)
            self._owed = max(0.0, self._owed - paid)
        self._owed += taken
        self._since = now
        return min(LONGEST_S, max(0.0, self._owed - BURST_S))
