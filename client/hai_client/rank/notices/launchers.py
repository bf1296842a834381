"""Ends launchers whose workers were all ended.

torchrun takes seconds to report that its workers have failed. When all workers of a rank were ended by a signal that
they do not catch, no worker is saving, none may be started again, and the report is of no use. So the launchers are
killed, and count as ended like their workers. A launcher that passes on the output of its workers gets a moment first.

Launchers of workers that caught their signal are left alone: workers on other nodes may still save, and the agent of
torchrun on the first node runs the store over which they meet.
"""

from __future__ import annotations

import signal

from hai_client.linux.identity import acting_as
from hai_client.linux.openfiles import standard_pipes
from hai_client.linux.processes import Process, read_process, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hai_client.linux.identity import Account
    from hai_client.rank.evidence.finding import Evidence
    from hai_client.rank.notices.shells import Shells

#: How long a launcher has to pass on the output of its workers, seconds.
HAND_ON_S = 0.3


class _Launcher:
    """A launcher: its start time, which identifies the process, and whether it passes on its workers' output."""

    __slots__ = ("hands_on", "start")

    def __init__(self, start: int, *, hands_on: bool) -> None:
        self.start = start
        self.hands_on = hands_on


class Launchers:
    """The launchers of a rank whose workers were ended."""

    def __init__(self, account: Account | None, shells: Shells, evidence: Evidence) -> None:
        self._account = account
        self._shells = shells
        self._evidence = evidence
        self._known: dict[int, _Launcher] = {}
        #: When all their workers were first seen to be gone, monotonic seconds.
        self._idle_at: float | None = None

    def note(self, table: Mapping[int, Process], launchers: Iterable[int], worker: int) -> None:
        """Note the launchers that wait for a worker that is about to be ended."""
        with acting_as(self._account):
            for pid in launchers:
                if pid in table:
                    prints = standard_pipes(worker)[1]
                    hands_on = not prints or not prints <= standard_pipes(pid)[1]
                    known = self._known.setdefault(pid, _Launcher(table[pid].start, hands_on=hands_on))
                    known.hands_on = known.hands_on or hands_on

    def note_driver(self, table: Mapping[int, Process], pid: int) -> None:
        """Note a process that ends slowly and passes on the output of others, such as the driver of a Ray."""
        self._known[pid] = _Launcher(table[pid].start, hands_on=True)

    def step(self, now: float) -> None:
        """End the launchers, after all their workers were ended and are gone (now: monotonic seconds)."""
        if self._idle_at is None:
            self._idle_at = now
        for pid, launcher in self._known.items():
            process = read_process(pid)
            if process is None or process.start != launcher.start or process.zombie:
                continue
            if launcher.hands_on and now - self._idle_at < HAND_ON_S:
                continue
            if not self._evidence.writing([pid]):
                self._shells.stand_for(pid, signal.SIGTERM)
                send(pid, signal.SIGKILL)
