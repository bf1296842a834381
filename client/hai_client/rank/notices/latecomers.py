"""Ends processes that were started after the notice: an agent's new workers, and a shell's next command."""

from __future__ import annotations

import signal

from hai_client.linux.processes import send
from hai_client.rank.notices.workers import is_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hai_client.linux.processes import Process
    from hai_client.rank.notices.roster import Roster
    from hai_client.rank.notices.shells import Shells
    from hai_client.rank.notices.signals import SignalRule
    from hai_client.rank.notices.workers import Workers


class Latecomers:
    """The processes that came after the notice. Each is ended once, and no worker is one of them.

    Args:
        rule: Which signal a process gets.
        roster: Where latecomers are noted.
        shells: The shells that were stopped, or ended.
        mark: Called before a process is ended.
    """

    def __init__(self, rule: SignalRule, roster: Roster, shells: Shells, mark: Callable[[], None]) -> None:
        self._rule = rule
        self._roster = roster
        self._shells = shells
        self._mark = mark

    def end(self, table: Mapping[int, Process], found: Workers, now: float) -> None:
        """End those that are there (now: monotonic seconds)."""
        stage: list[int] = []
        for pid in found.top:
            if self._roster.is_noted(table[pid]) or is_shell(pid):
                # A shell without children is about to start a command, or to end.
                continue
            if pid in found.under_agent:
                self._note(table, pid)
                send(pid, self._rule.signal_for(pid) or signal.SIGTERM)
            elif self._is_next_stage(table, found, pid):
                self._note(table, pid)
                stage.append(pid)
        self._end_stage(found, stage, now)

    def _note(self, table: Mapping[int, Process], pid: int) -> None:
        self._roster.late[pid] = table[pid].start
        self._mark()

    def _end_stage(self, found: Workers, pids: list[int], now: float) -> None:
        """End the processes of the next command of some shells, and with them the shells."""
        shells = list(dict.fromkeys(shell for pid in pids for shell in found.above[pid]))
        ended = {shell for shell in shells if self._shells.is_ended(shell)}
        for shell in shells:
            send(shell, signal.SIGSTOP)
        for pid in pids:
            send(pid, signal.SIGTERM)
        for shell in reversed(shells):
            if shell in ended:
                # The shell has trapped SIGTERM, and goes on.
                send(shell, signal.SIGKILL)
            else:
                self._shells.end(shell, now)

    def _is_next_stage(self, table: Mapping[int, Process], found: Workers, pid: int) -> bool:
        """Return whether a process is the next command of a shell without a trap, after its last command has ended."""
        if not found.above[pid] and not self._roster.was_shell(table[pid]):
            return False
        if any(one in self._roster.trapping or self._shells.is_cleaning_up(one) for one in (*found.above[pid], pid)):
            return False
        workers = self._roster.workers
        before = [workers[other] for other in found.top if found.above[other] and other in workers]
        return not any(worker.is_in(table) and not worker.listens for worker in before)
