"""Computes the rest of the loop after a tick, so that requests get processor time too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

#: Seconds of ticks that may follow each other without a rest: a start that preempts another task needs two ticks.
BURST_S: Final = 1.0
#: The rest that a tick with changes owes, as a part of the time that it took.
WORKING: Final = 0.25
#: The longest rest, seconds.
LONGEST_S: Final = 1.0


@dataclass(slots=True)
class DutyCycle:
    """Limits the share of time that ticks take: without changes to one half, however often the bus rings.

    Ticks with changes take four fifths at most; after a quiet time there may be a burst of both kinds. Effects are
    carried out during the rest (launch/launching.py).
    """

    #: Seconds of rest that are owed, and the moment up to which rests are counted.
    _owed: float = 0.0
    _since: datetime | None = None

    def rest(self, taken: float, now: datetime, *, working: bool = False) -> float:
        """The seconds to rest after a tick that took `taken` seconds; `working`: the tick has changed something."""
        if self._since is not None:
            paid = max(0.0, (now - self._since).total_seconds() - taken)
            self._owed = max(0.0, self._owed - paid)
        self._owed += taken * WORKING if working else taken
        self._since = now
        return min(LONGEST_S, max(0.0, self._owed - BURST_S))
