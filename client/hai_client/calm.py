"""A rate limit for logs: each place in the code writes at most `MOST` lines in `PERIOD_S` seconds.

Every request from the network can write a line to a server's log, malformed requests too. Without a limit a flood of
requests would rotate the important lines away.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

#: Lines that one place may write in `PERIOD_S` seconds.
MOST: Final = 60
PERIOD_S: Final = 10.0


class Calm(logging.Filter):
    """Logging filter that limits the records of a place (file and line) per period.

    The first record of a place after its period says how many were left out.

    Args:
        most: Records of a place in a period.
        period_s: Length of the period, seconds.
        clock: Returns seconds that only grow.
    """

    def __init__(
        self, *, most: int = MOST, period_s: float = PERIOD_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._most, self._period_s, self._clock = most, period_s, clock
        #: By place: when its period began, how many went through, how many were left out. Places are few.
        self._places: dict[tuple[str, int, int], tuple[float, int, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether this record is written."""
        # A server's refusals must not hide its failures, which the same line of code may log.
        place = (record.pathname, record.lineno, record.levelno)
        now = self._clock()
        began, passed, left_out = self._places.get(place, (now, 0, 0))
        if now - began >= self._period_s:
            began, passed = now, 0
        if passed >= self._most:
            self._places[place] = (began, passed, left_out + 1)
            return False
        self._places[place] = (began, passed + 1, 0)
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out} more such lines were left out before this one)"
            record.args = ()
        return True


def calm(*names: str) -> None:
    """Add the filter to loggers. It limits what they log themselves, not records of the loggers below them.

    Args:
        names: Names of the loggers.
    """
    for name in names:
        logger = logging.getLogger(name)
        if not any(isinstance(known, Calm) for known in logger.filters):
            logger.addFilter(Calm())


def logging_config() -> dict[str, object]:
    """Return a value for `Application.logging_config` that adds the filter to the Hub's log."""
    return {"filters": {"calm": {"()": f"{__name__}.Calm"}}, "handlers": {"console": {"filters": ["calm"]}}}
