"""Record logins and failed logins in `logs/logins.log`, so few that a flood cannot make the log rotate.

Each login is a line: time, outcome, name, address and path. Logins beyond a number a minute are counted instead of
written; the next line that is written says how many were left out.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

log = logging.getLogger("hai_hub")

#: Lines a minute for failed logins of all names, and lines a minute for successful logins of each user.
FAILED_A_MINUTE: Final = 10
OK_A_MINUTE: Final = 10
_MINUTE_S: Final = 60.0
_LONGEST: Final = 64


class _Minute:
    """Lets `most` records a minute pass, and counts the others."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most, self._clock = most, clock
        self._began, self._passed, self._left_out = -_MINUTE_S, 0, 0

    def due(self) -> int | None:
        """Return how many records were left out since the last that passed; None: this one is left out too."""
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
    """Writes records of logins to a file.

    Args:
        file: Path of the file; it is made at the first record, and only its owner can read it.
        clock: Returns monotonic time in seconds.
        now: Returns the time of day, with a time zone.
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
        #: By name of the user. Only users of the Hub can log in, so the number of names is limited.
        self._ok: dict[str, _Minute] = {}

    def record(self, outcome: str, name: str, address: str, way: str) -> None:
        """Write a line, unless this minute has had enough of them.

        Args:
            outcome: `ok`, `failed`, or `slowed` for a try that was not checked.
            name: Name of the user that the client sent; it may be any text.
            address: Address of the client, as the proxy tells it.
            way: Path of the request, without its query.

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
            f"user={plain(name)} from={plain(address)} by={plain(way)}"
        )
        if left_out:
            what = f"logins of {plain(name)}" if outcome == "ok" else "failed or slowed logins"
            line += f" ({left_out} more {what} were counted before this one)"
        self.write(line)

    def write(self, line: str) -> None:
        """Write a line to the file. Raises OSError."""
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(line + "\n")


class LoggedLogins(LoginRecords):
    """Writes records of logins to the process's own log, where there is no folder for files."""

    def __init__(self) -> None:
        super().__init__(Path(os.devnull))

    def write(self, line: str) -> None:
        """Write a line to the log, which adds the time of its own."""
        log.info("login: %s", line)


def plain(text: str) -> str:
    """Return the text as one word of the line: as it is where that is safe, else as JSON."""
    short = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return (
        short
        if short.isascii() and short.isprintable() and not set(' "=') & set(short) and short
        else json.dumps(short)
    )
