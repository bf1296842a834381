"""A log that noise cannot fill: each place in the code writes only so many lines in a while.

Every request of anybody is a line of the Hub's log, and every malformed one. Without a bound a crowd of them would have
the lines that matter rotated away. Logins have a file of their own besides (`login_records`).
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
    """Lets so many records of a place (file and line) through; the first after a pause says how many were left out.

    Args:
        most: Records in a period.
        period_s: Its length, seconds.
        clock: Seconds that only grow.
    """

    def __init__(
        self, *, most: int = MOST, period_s: float = PERIOD_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._most, self._period_s, self._clock = most, period_s, clock
        #: By place: when its period began, how many went through, how many were left out. Places are few.
        self._places: dict[tuple[str, int], tuple[float, int, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this record is written."""
        place = (record.pathname, record.lineno)
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


def logging_config() -> dict[str, object]:
    """What `Application.logging_config` adds, so that the log of a Hub is calm."""
    return {"filters": {"calm": {"()": f"{__name__}.Calm"}}, "handlers": {"console": {"filters": ["calm"]}}}
