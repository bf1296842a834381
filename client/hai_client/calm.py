"""What logs leave out: secrets, and what a place in the code writes beyond `MOST` lines in `PERIOD_S` seconds.

Every request from the network can write a line to a server's log, malformed requests too. Without a limit a flood of
requests would rotate the important lines away.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from hai_client.masking import masked

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


class Masking(logging.Filter):
    """Logging filter of a handler that takes secrets out of messages and of tracebacks. It lets all records pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record; return True."""
        # A record whose values do not fit its text is the handler's to complain of.
        with suppress(TypeError, ValueError, KeyError):
            record.msg, record.args = masked(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            # A formatter takes this text as it is.
            record.exc_text = masked(logging.Formatter().formatException(record.exc_info))
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
    """Return a value for `Application.logging_config` that adds the filters to the Hub's log."""
    filters = {"calm": {"()": f"{__name__}.Calm"}, "masking": {"()": f"{__name__}.Masking"}}
    return {"filters": filters, "handlers": {"console": {"filters": list(filters)}}}


def log_to_stderr(form: str) -> None:
    """Let this process log to stderr, with the level INFO and without secrets.

    Args:
        form: The format of a line.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(Masking())
    logging.basicConfig(level=logging.INFO, format=form, handlers=[handler])
