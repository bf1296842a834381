"""Ends a process that makes no progress, after it has printed the stack of each thread."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

#: The exit status of a process that the watchdog has ended.
STATUS = 79
#: Looks for progress per allowed time, and the longest time between two looks, seconds.
_PART, _LONGEST_S = 8, 5.0


class Watchdog:
    """A thread that looks for progress until it is stopped.

    Args:
        seconds: How long there may be no progress, seconds.
        progress_at: Returns when there was progress last, in seconds of `clock`.
        clock: Returns monotonic seconds.
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
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the watchdog."""
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
