"""How long the loop rests after a tick, so that those who ask get their answers too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

#: Seconds of ticks that may follow each other without a rest: a task that others leave for needs two.
BURST_S: Final = 1.0
#: What a tick that changes something owes, of the time that it took: where there is work, the loop works.
WORKING: Final = 0.25
#: The longest rest, seconds.
LONGEST_S: Final = 1.0


@dataclass(slots=True)
class Pace:
    """Ticks that find nothing to do take half of the time at most, however often they are rung for.

    Ticks that change something take four fifths; after a quiet time there may be a burst of either.
    What a tick wants done after its commit is done beside it (launch/launching.py), while it rests.
    """

    #: Seconds of rest that are owed, and since when none have been paid.
    _owed: float = 0.0
    _since: datetime | None = None

    def rest(self, taken: float, now: datetime, *, working: bool = False) -> float:
        """Seconds to rest now, after a tick of that many seconds; whether it has changed anything."""
        if self._since is not None:
            paid = max(0.0, (now - self._since).total_seconds() - taken)
            self._owed = max(0.0, self._owed - paid)
        self._owed += taken * WORKING if working else taken
        self._since = now
        return min(LONGEST_S, max(0.0, self._owed - BURST_S))
