"""Notices when the wall clock jumps ahead: it was set, or the machine slept."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

log = logging.getLogger(__name__)

#: Smaller jumps are ignored: time services correct clocks now and then.
TOLERANCE: Final = timedelta(seconds=5)
_NONE: Final = timedelta(0)


@dataclass(slots=True)
class Steadiness:
    """Compares the wall clock, which all stored times are of, with the monotonic clock (`Clock.steady`).

    A look counts once it is settled: after a failed transaction, the next look finds the same jump again. A jump
    between two leaders is not noticed and counts as time that passed.
    """

    _settled: tuple[datetime, float] | None = None
    _looked: tuple[datetime, float] | None = None

    def look(self, now: datetime, steady: float) -> timedelta:
        """The jump ahead of the clock since the last settled look; zero for less than `TOLERANCE`.

        A clock that is set back needs no handling: `Clock.now` goes slower until it is right.
        """
        self._looked = now, steady
        if self._settled is None:
            return _NONE
        then, steady_then = self._settled
        ahead = (now - then) - timedelta(seconds=steady - steady_then)
        if ahead < TOLERANCE:
            return _NONE
        log.warning(
            "the clock has gone ahead by %.0f s in which no time has passed: it was set, or the machine slept;"
            " this is not counted as running time of tasks, and their deadlines are put off by it",
            ahead.total_seconds(),
        )
        return ahead

    def settle(self) -> None:
        """Count the last look: its transaction has been committed."""
        self._settled = self._looked
