"""Whether the clock goes on as time passes: it does not when it is set, nor while the machine sleeps."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

log = logging.getLogger(__name__)

#: A clock that goes ahead by less is not spoken of: it is put right now and then.
TOLERANCE: Final = timedelta(seconds=5)
_NONE: Final = timedelta(0)


@dataclass(slots=True)
class Steadiness:
    """Compares the clock that everything is written down by with one that nobody sets (`Clock.steady`).

    A look counts once it is settled: what a transaction that failed has found is found again by the next one. What
    happens while nobody looks, as between two leaders, is taken for time that passed.
    """

    _settled: tuple[datetime, float] | None = None
    _looked: tuple[datetime, float] | None = None

    def look(self, now: datetime, steady: float) -> timedelta:
        """By how much the clock has gone ahead since the last look that was settled; zero for less than `TOLERANCE`.

        A clock that is set back needs no care: it goes slower until it is right (`Clock.now`).
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
        """What the last look has found is written."""
        self._settled = self._looked
