"""Ends every process of a rank."""

from __future__ import annotations

import os
import signal
import time

from hai_client.linux.catching import read_masks
from hai_client.linux.processes import descendants, read_table, send, signal_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hai_client.linux.processes import Process

#: Time between two rounds while processes are being killed, and while they may still leave by themselves, seconds.
KILL_TICK_S = 0.02
WAIT_TICK_S = 0.1


class ProcessKiller:
    """Sends SIGTERM to descendants once, then, after a wait, SIGKILL to all until none is left.

    Processes that got SIGTERM with their notice, and those above them, get no second one: a handler would begin its
    save again, and a launcher pass it on. SIGKILL is repeated because processes may fork between the look at the
    process table and the signal.

    Args:
        wait_s: Time between SIGTERM and SIGKILL, seconds.
        tear: Called with the pids of processes that are about to be ended in the middle of their work.
        told: The pids that got SIGTERM with their notice, and may still be saving because of it.
    """

    def __init__(self, wait_s: float, tear: Callable[[list[int]], None], told: Iterable[int] = ()) -> None:
        self._wait_s = wait_s
        self._tear = tear
        self._told = frozenset(told)
        self._deadline: float | None = None
        self.tick_s = WAIT_TICK_S

    def hasten(self, now: float, wait_s: float) -> None:
        """Shorten the wait: SIGKILL comes at most `wait_s` seconds after `now` (monotonic seconds)."""
        self._wait_s = min(self._wait_s, wait_s)
        if self._deadline is not None:
            self._deadline = min(self._deadline, now + wait_s)

    def step(self, now: float) -> None:
        """Send the signal that is due at a time (monotonic seconds)."""
        if self._deadline is None:
            self._deadline = now + self._wait_s
            self._terminate()
        if now >= self._deadline:
            if self.tick_s != KILL_TICK_S:
                self._tear(_below())
            self.tick_s = KILL_TICK_S
            signal_below(os.getpid(), signal.SIGKILL)

    def _terminate(self) -> None:
        table = read_table()
        spared = {above for pid in self._told for above in _line_of(table, pid)}
        ended = [pid for pid in descendants(table, (os.getpid(),)) if pid not in spared and not table[pid].zombie]
        self._tear([pid for pid in ended if not read_masks(pid).catches(signal.SIGTERM)])
        for pid in ended:
            send(pid, signal.SIGTERM)
        for pid in {*ended, *spared}:
            # A stopped process would not get the signal, nor end its save.
            send(pid, signal.SIGCONT)


def _line_of(table: Mapping[int, Process], pid: int) -> Iterator[int]:
    """Yield a process and those above it, up to this one."""
    while pid in table and pid != os.getpid():
        yield pid
        pid = table[pid].parent


def _below() -> list[int]:
    return descendants(read_table(), (os.getpid(),))


def kill_all() -> None:
    """Send SIGKILL to every descendant of this process, and reap it, again and again until none is left.

    This process must be the subreaper of its descendants: then no child means that no descendant is left.
    """
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        signal_below(os.getpid(), signal.SIGKILL)
        time.sleep(KILL_TICK_S)
