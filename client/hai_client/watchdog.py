"""Ends a process that makes no progress, after it has printed where each of its threads stands."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

#: The exit status of a process that was ended so.
STATUS = 79
#: It is looked so often for progress, as a part of the time that is allowed, and seconds.
_PART, _LONGEST_S = 8, 5.0


class Watchdog:
    """A thread that looks for progress until it is stopped.

    Args:
        seconds: How long there may be none.
        progress_at: When there was some last, seconds of `clock`.
        clock: Seconds that nobody sets.
    """

    def __init__(
        self, seconds: float, progress_at: Callable[[], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._progress_at = progress_at
        self._clock = clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hai-watchdog", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(min(_LONGEST_S, self._seconds / _PART)):
            silent = self._clock() - self._progress_at()
            if silent >= self._seconds:
                self._end(silent)

    def _end(self, silent: float) -> None:
        # Not through sys.stderr: the thread that hangs may hold its lock.
        text = (
            f"hai: no progress for {silent:.0f} s (job.alive, job.should_suspend or job.saved), {self._seconds:g} s are"
            f" allowed; this is where each thread stands, and the process is ended with status {STATUS}\n"
        )
        os.write(2, text.encode())
        faulthandler.dump_traceback(file=sys.__stderr__ if sys.__stderr__ is not None else 2, all_threads=True)
        os._exit(STATUS)
