"""Ending every process of a rank."""

from __future__ import annotations

import os
import signal
import time

from hai_client.rank.processes import signal_below

#: Between two rounds while processes are being killed, and while they may still leave by themselves.
KILL_TICK_S = 0.02
WAIT_TICK_S = 0.1


class Ending:
    """SIGTERM to all descendants once, then, after a wait, SIGKILL until none is left.

    Killing is repeated because processes may fork between the look and the blow.
    """

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._deadline: float | None = None
        self.tick_s = WAIT_TICK_S

    def step(self, now: float) -> None:
        """Do what is due at a time (monotonic seconds)."""
        if self._deadline is None:
            self._deadline = now + self._wait_s
            signal_below(os.getpid(), signal.SIGTERM)
        if now >= self._deadline:
            self.tick_s = KILL_TICK_S
            signal_below(os.getpid(), signal.SIGKILL)


def kill_all() -> None:
    """SIGKILL every descendant of this process, again and again, and collect it, until none is left.

    Orphans must come to this process: then no child means that no descendant is left.
    """
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        signal_below(os.getpid(), signal.SIGKILL)
        time.sleep(KILL_TICK_S)
