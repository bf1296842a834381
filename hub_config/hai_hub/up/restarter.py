"""Restart a process whenever it ends: at once after a crash, with growing pauses if it cannot start."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hai_hub.shared.console import say
from hai_hub.shared.errors import WRONG_INPUT, UpError
from hai_hub.shared.logs import tail

#: Starts in a row that ended before the process answered, after which it is not started again.
LIMIT: Final = 5
#: The same limit for a process that has never answered and exits with an error status: its settings are wrong.
REFUSALS: Final = 2
#: Seconds before the next start, by the number of starts in a row that ended before the process answered.
_PAUSES_S: Final = (0.0, 0.0, 0.5, 1.0, 2.0, 5.0)
#: Least seconds before the next try if the system could not start the process.
_NO_ROOM_S: Final = 0.5


@dataclass(slots=True)
class Restarts:
    """Decides whether and when a process is started again."""

    ever_answered: bool = False  #: Whether the process has answered since the platform started.
    in_a_row: int = 0  #: Number of its last starts that ended before it answered.

    def answered(self) -> None:
        """Note that the process has answered."""
        self.ever_answered, self.in_a_row = True, 0

    def ended(self, status: int, *, had_answered: bool) -> bool:
        """Note an end of the process; returns whether to start it again.

        Args:
            status: Exit status as `subprocess` gives it: negative for the number of a signal.
            had_answered: Whether the process had answered since its last start.
        """
        self.in_a_row = 0 if had_answered else self.in_a_row + 1
        by_itself = status > 0 and not self.ever_answered
        return self.in_a_row < (REFUSALS if by_itself else LIMIT)

    @property
    def pause_s(self) -> float:
        """Seconds before the next start."""
        return _PAUSES_S[min(self.in_a_row, len(_PAUSES_S) - 1)]


class Restarter:
    """Keeps one process running.

    Args:
        what: Name of the process in messages.
        start: Starts the process.
        answers: Returns whether the process answers; called until it does.
        log: File that the process writes its output to.
        says_why: Whether the last line of the log tells what to change when the process ends with status 2.
        forever: Whether to go on trying without limit once the process has answered: the cause of a failure, such as a
            full disk, may go away.
        clock: Returns monotonic time in seconds.
    """

    def __init__(
        self,
        what: str,
        *,
        start: Callable[[], subprocess.Popen[bytes]],
        answers: Callable[[], bool],
        log: Path,
        says_why: bool = False,
        forever: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what = what
        self.restarts = Restarts()
        self._start = start
        self._answers = answers
        self._log = log
        self._says_why = says_why
        self._forever = forever
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._up = False
        self._began = 0.0
        self._from = 0
        #: When the process is started again; None while it runs.
        self._due: float | None = None

    @property
    def pid(self) -> int | None:
        """The pid of the process; None before the first start."""
        return None if self._process is None else self._process.pid

    @property
    def runs(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def up(self) -> bool:
        """Whether the process has answered since its last start, and still runs."""
        return self._up and self.runs

    def begin(self) -> None:
        """Start the process. Raises UpError: the system failed to start the process too often."""
        self._from = self._log.stat().st_size if self._log.exists() else 0
        self._up, self._due, self._began = False, None, self._clock()
        try:
            self._process = self._start()
        except OSError as error:
            if self._is_given_up(1, was_up=False):
                raise UpError(f"{self.what} cannot be started: {error.strerror or error}") from error
            self._due = self._clock() + max(self.restarts.pause_s, _NO_ROOM_S)

    def tend(self) -> None:
        """Restart the process if it has ended and the pause is over; check whether it answers.

        Raises:
            UpError: The process failed too often; the error shows the end of its log.
        """
        if self._due is not None:
            if self._clock() >= self._due:
                self.begin()
            return
        assert self._process is not None, "begin comes first"
        if (status := self._process.poll()) is not None:
            self._ended(status)
        elif not self._up and self._answers():
            again = self.restarts.ever_answered
            self._up = True
            self.restarts.answered()
            if again:
                say(f"  {self.what} is up again ({self._clock() - self._began:.1f} s)")

    def _ended(self, status: int) -> None:
        was_up, self._up = self._up, False
        given_up = self._is_given_up(status, was_up=was_up)
        if self._says_why and status == WRONG_INPUT and not self.restarts.ever_answered:
            reason = tail(self._log, since=self._from).rpartition("\n")[2].strip()
            raise UpError(reason or f"{self.what} ended with status {status}", exit_code=WRONG_INPUT)
        if given_up:
            often = f", {n} times in a row before it answered" if (n := self.restarts.in_a_row) > 1 else ""
            raise UpError(
                f"{self.what} ended {_how(status)}{often}; the end of {self._log}",
                detail=tail(self._log, since=self._from),
            )
        say(f"  {self.what} ended {_how(status)}; it is started again")
        self._due = self._clock() + self.restarts.pause_s
        if self.restarts.pause_s == 0:
            self.begin()

    def _is_given_up(self, status: int, *, was_up: bool) -> bool:
        again = self.restarts.ended(status, had_answered=was_up)
        return not again and not (self._forever and self.restarts.ever_answered)

    def stop(self, patience_s: float, tick: Callable[[], None]) -> None:
        """End the process: SIGTERM, and SIGKILL after `patience_s`.

        Args:
            patience_s: Seconds between the two signals.
            tick: Called repeatedly while the process ends.
        """
        self._due = None
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        deadline = time.monotonic() + patience_s
        while self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
            tick()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _how(status: int) -> str:
    """Return `with status 1`, or `by SIGKILL`."""
    if status >= 0:
        return f"with status {status}"
    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"
