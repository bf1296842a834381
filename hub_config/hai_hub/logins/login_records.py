"""Who has logged in, or tried to: `logs/logins.log`, which noise cannot rotate away.

A line a login: time, what became of it, name, address, and by which way. Failures beyond some a minute are counted, not
written; the next line that is written says how many there were.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

#: Lines a minute on logins that failed, and lines a minute on each user's that did not.
FAILED_A_MINUTE: Final = 10
OK_A_MINUTE: Final = 10
_MINUTE_S: Final = 60.0
_LONGEST: Final = 64


class _Minute:
    """So many in a minute, and how many more there were."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most, self._clock = most, clock
        self._began, self._passed, self._left_out = -_MINUTE_S, 0, 0

    def due(self) -> int | None:
        """How many were left out since the last one that was due; None: this one is left out too."""
        now = self._clock()
        if now - self._began >= _MINUTE_S:
            self._began, self._passed = now, 0
        if self._passed >= self._most:
            self._left_out += 1
            return None
        self._passed += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


class LoginRecords:
    """The file.

    Args:
        file: Its path; it is made at the first record, readable by its owner alone.
        clock: Seconds that only grow.
        now: The time of day.
    """

    def __init__(
        self,
        file: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._file, self._clock, self._now = file, clock, now
        self._failed = _Minute(FAILED_A_MINUTE, clock)
        #: By user. They are those of the Hub: who does not exist does not log in.
        self._ok: dict[str, _Minute] = {}

    def record(self, outcome: str, name: str, address: str, way: str) -> None:
        """Write a line, if there is room for one.

        Args:
            outcome: `ok`, `failed`, or `slowed` for a try that was not looked at.
            name: Who it says it is; a client may have sent anything.
            address: From where, as the proxy tells.
            way: The path that was asked for, without its query.

        Raises:
            OSError: The file cannot be written.
        """
        if outcome == "ok":
            left_out = self._ok.setdefault(name, _Minute(OK_A_MINUTE, self._clock)).due()
        else:
            left_out = self._failed.due()
        if left_out is None:
            return
        line = (
            f"{self._now().isoformat(timespec='seconds')} {outcome} "
            f"user={_plain(name)} from={_plain(address)} by={_plain(way)}"
        )
        if left_out:
            what = f"logins of {_plain(name)}" if outcome == "ok" else "failed or slowed logins"
            line += f" ({left_out} more {what} were counted before this one)"
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(line + "\n")


def _plain(text: str) -> str:
    """One word, whatever a client has sent: JSON where it is anything else."""
    short = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return (
        short
        if short.isascii() and short.isprintable() and not set(' "=') & set(short) and short
        else json.dumps(short)
    )
