"""Prevents the stages of a script that would begin after the notice.

Some shells are not stopped (`shells`), because their command, and the script, may come to their own
end. These shells are watched (`births`). Builtins run. A process that a watched shell starts is held.
It is ended with the shell as soon as no process works any more that shells had started before the notice, so that
helpers in the background get their time. A shell with a trap is left alone, and so is what a trap starts.
"""

from __future__ import annotations

from hai_client.linux.processes import read_table
from hai_client.rank.notices.births import Births
from hai_client.rank.notices.workers import is_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from hai_client.linux.processes import Process
    from hai_client.rank.notices.shells import Shells
    from hai_client.rank.notices.workers import Workers


class Stages:
    """The watched shells and the processes that they would start.

    Args:
        shells: The shells that were stopped, or ended.
        trapping: Pids of shells that got a signal that they trap.
        mark: Called before a process is ended.
    """

    def __init__(self, shells: Shells, trapping: Container[int], mark: Callable[[], None]) -> None:
        self._shells = shells
        self._trapping = trapping
        self._mark = mark
        self._births = Births()
        #: Stops of watched processes that are not answered yet: pid and status of `os.waitpid`.
        self._stops: list[tuple[int, int]] = []

    def stopped(self, pid: int, status: int) -> None:
        """Note the stop of a traced process, with the status of `os.waitpid`."""
        self._stops.append((pid, status))

    def answer(self) -> bool:
        """Answer the stops; processes that only got a signal go on. Return whether a shell has newly begun to wait."""
        if not self._stops:
            return False
        stops, self._stops = self._stops, []
        for pid, status in stops:
            self._births.take(pid, status)
        return any(self._births.waiting)

    def release(self) -> None:
        """End all held processes and stop watching, as the whole rank is being ended. Call it again and again."""
        self.answer()
        self._births.end_all()

    def table(self) -> dict[int, Process]:
        """Return every process by pid, without held ones."""
        table = read_table()
        self._births.forget(table)
        for pid in self._births.held:
            table.pop(pid, None)
        return table

    def is_held(self, process: Process) -> bool:
        """Return whether a process of the table is held before it begins: its stop is not answered yet."""
        return process.stopped and (self._births.watches(process.pid) or self._births.watches(process.parent))

    def watches(self, pid: int) -> bool:
        """Return whether a shell is watched."""
        return self._births.watches(pid)

    def watch(self, table: Mapping[int, Process], found: Workers, traps: Callable[[int], bool]) -> bool:
        """Watch the shells that go on; return whether one is new: it may have started a process just before.

        Args:
            table: All processes.
            found: The workers and shells.
            traps: Returns whether a shell has a trap for its signal.
        """
        idle = [pid for pid in found.top if is_shell(pid)]
        new = False
        for pid in (*found.shells, *idle):
            if not (self._shells.is_stopped(pid) or traps(pid) or self._is_of_a_trap(table, pid)):
                new = self._births.watch(pid) or new
        return new

    def hold(self, table: Mapping[int, Process], found: Workers, listens: Callable[[int], bool], now: float) -> None:
        """End held processes with their shells, unless a process from before the notice still works.

        Args:
            table: All processes but the held ones.
            found: The workers and shells.
            listens: Returns whether a process only reads the output of another one.
            now: Monotonic seconds.
        """
        for shell in self._births.watched:
            if self._shells.is_ended(shell):
                # The shell may run its EXIT trap.
                self._births.end(shell)
        for shell, newborn in self._births.waiting:
            above = self._above(table, shell)
            if self._shells.is_ended(shell) or any(self._shells.is_ended(one) for one in above):
                self._end(shell, newborn, above, now)
            elif not self._others_work(found, shell, listens):
                self._mark()
                self._end(shell, newborn, above, now)
            elif shell == newborn and any(one.parent == shell and not one.zombie for one in table.values()):
                # The shell has become another program above processes that it had started: they may need it.
                self._births.allow(shell)

    def _end(self, shell: int, newborn: int, above: list[int], now: float) -> None:
        if shell != newborn:
            above = [shell, *above]
        else:
            self._births.end(shell)
        for one in above:
            if not self._shells.is_ended(one):
                self._shells.end(one, now)
            self._births.end(one)

    def _above(self, table: Mapping[int, Process], pid: int) -> list[int]:
        """Return the shells above a process that have no trap."""
        return [one for one in _ancestors(table, pid) if self._births.watches(one) or self._shells.is_kept(one)]

    def _is_of_a_trap(self, table: Mapping[int, Process], pid: int) -> bool:
        """Return whether a trap may have started this shell."""
        if self._births.watches(pid):
            return False
        return any(one in self._trapping or self._shells.is_cleaning_up(one) for one in _ancestors(table, pid))

    def _others_work(self, found: Workers, shell: int, listens: Callable[[int], bool]) -> bool:
        """Return whether a process that shells started before the notice still works; mere readers do not count."""
        return any(
            found.above[pid] and pid != shell and not self._births.watches(pid) and not listens(pid)
            for pid in found.top
        )


def _ancestors(table: Mapping[int, Process], pid: int) -> list[int]:
    found = []
    while pid in table:
        pid = table[pid].parent
        found.append(pid)
    return found
