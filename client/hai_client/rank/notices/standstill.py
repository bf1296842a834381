"""Stops workers for the look at what they write and for their signal, so that the signal tears no checkpoint.

What `stop` has stopped goes on at `release`, whatever happened in between.
"""

from __future__ import annotations

import signal
import time

from hai_client.linux.processes import descendants, read_table, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hai_client.linux.processes import Process
    from hai_client.rank.evidence.finding import Evidence

#: How long processes have to stop, seconds; a process that takes longer waits for a disk, so it is writing.
STOP_S = 0.1
#: How long, and how often, to look for a moment without writes, seconds.
PAUSE_S = 0.1
PAUSE_LOOK_S = 0.002


class Standstill:
    """Some workers, and all processes below them, that are stopped for a moment.

    Args:
        evidence: The evidence of the rank's checkpoints: says who writes one.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._stopped: list[int] = []

    def await_pause(self, pids: list[int], table: Mapping[int, Process], begun: float = float("inf")) -> bool:
        """Wait for a moment in which none of the processes writes a checkpoint; return whether there was one.

        A job that saves all the time pauses for milliseconds only. Saves that began after `begun` do not count.
        """
        group = [*pids, *descendants(table, pids)]
        ends = time.monotonic() + PAUSE_S
        while self._evidence.writing(group, begun):
            if time.monotonic() >= ends:
                return False
            time.sleep(PAUSE_LOOK_S)
        return True

    def stop(self, pids: list[int]) -> list[int] | None:
        """Stop processes and all below them; return them, or None if one of them does not stop."""
        self._stopped = list(pids)
        for pid in pids:
            # Before anything else: the pause that was found may be short.
            send(pid, signal.SIGSTOP)
        ends = time.monotonic() + STOP_S
        while True:
            table = read_table()
            group = [pid for pid in [*pids, *descendants(table, pids)] if pid in table and not table[pid].zombie]
            new = [pid for pid in group if pid not in self._stopped]
            for pid in new:
                send(pid, signal.SIGSTOP)
            self._stopped += new
            if not new and all(table[pid].stopped for pid in group):
                return group
            if time.monotonic() >= ends:
                return None
            time.sleep(0.001)

    def release(self) -> None:
        """Let all go on that `stop` has stopped."""
        for pid in self._stopped:
            send(pid, signal.SIGCONT)
