"""The stages of a script that come after the notice: none of them begins.

A shell that is not stopped (`hai_client.rank.shells`), because what it runs may come to its end by itself and the
script with it, is watched (`hai_client.rank.births`). Builtins run. What it starts is held, and ended with the shell as
soon as nothing works any more that shells had started before: helpers in the background are left their time. A shell
with a trap, and what a trap or the end of a script starts, are left alone.
"""

from __future__ import annotations

from hai_client.rank.births import Births
from hai_client.rank.processes import read_table
from hai_client.rank.workers import is_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from hai_client.rank.processes import Process
    from hai_client.rank.shells import Shells
    from hai_client.rank.workers import Workers


class Stages:
    """What watched shells would start.

    Args:
        shells: Those that were stopped, or ended.
        trapping: Shells that were told to their traps.
        mark: Called before anything is ended.
    """

    def __init__(self, shells: Shells, trapping: Container[int], mark: Callable[[], None]) -> None:
        self._shells = shells
        self._trapping = trapping
        self._mark = mark
        self._births = Births()
        #: Stops of watched processes that are yet to be answered, as `os.waitpid` says them.
        self._stops: list[tuple[int, int]] = []

    def stopped(self, pid: int, status: int) -> None:
        """A process has stopped for this one, as `os.waitpid` says it."""
        self._stops.append((pid, status))

    def answer(self) -> bool:
        """Let go on who has only got a signal; whether, since the last time, a shell has begun to wait."""
        if not self._stops:
            return False
        stops, self._stops = self._stops, []
        for pid, status in stops:
            self._births.take(pid, status)
        return any(self._births.waiting)

    def release(self) -> None:
        """Everything is being ended: nothing is held any more, and what was held dies. To be called again and again."""
        self.answer()
        self._births.end_all()

    def table(self) -> dict[int, Process]:
        """Every process by pid, without those that have not begun."""
        table = read_table()
        self._births.forget(table)
        for pid in self._births.held:
            table.pop(pid, None)
        return table

    def is_held(self, process: Process) -> bool:
        """Whether a process has not begun, though the table has it: its stop is not answered yet."""
        return process.stopped and (self._births.watches(process.pid) or self._births.watches(process.parent))

    def watches(self, pid: int) -> bool:
        """Whether a shell is watched."""
        return self._births.watches(pid)

    def watch(self, table: Mapping[int, Process], found: Workers, traps: Callable[[int], bool]) -> bool:
        """Watch the shells that go on; whether one is new, which may have started something just before.

        Args:
            table: All processes.
            found: Who works, and the shells.
            traps: Whether a shell has a trap for its signal.
        """
        idle = [pid for pid in found.top if is_shell(pid)]
        new = False
        for pid in (*found.shells, *idle):
            if not (self._shells.is_stopped(pid) or traps(pid) or self._is_of_a_trap(table, pid)):
                new = self._births.watch(pid) or new
        return new

    def hold(self, table: Mapping[int, Process], found: Workers, listens: Callable[[int], bool], now: float) -> None:
        """End what was started, with its shells, unless something works on that was there before.

        Args:
            table: All processes but those that are held.
            found: Who works, and the shells.
            listens: Whether a process only reads what another one writes.
            now: Monotonic seconds.
        """
        for shell in self._births.watched:
            if self._shells.is_ended(shell):
                # It may do what its EXIT trap says.
                self._births.end(shell)
        for shell, newborn in self._births.waiting:
            above = self._above(table, shell)
            if self._shells.is_ended(shell) or any(self._shells.is_ended(one) for one in above):
                self._end(shell, newborn, above, now)
            elif not self._others_work(found, shell, listens):
                self._mark()
                self._end(shell, newborn, above, now)
            elif shell == newborn and any(one.parent == shell and not one.zombie for one in table.values()):
                # It has become something else above what it had started, which would be alone without it.
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
        """The shells above one that have no trap."""
        return [one for one in _ancestors(table, pid) if self._births.watches(one) or self._shells.is_kept(one)]

    def _is_of_a_trap(self, table: Mapping[int, Process], pid: int) -> bool:
        """Whether a shell may be what a trap has started."""
        if self._births.watches(pid):
            return False
        return any(one in self._trapping or self._shells.is_cleaning_up(one) for one in _ancestors(table, pid))

    def _others_work(self, found: Workers, shell: int, listens: Callable[[int], bool]) -> bool:
        """Whether something that shells had started before the notice is still there; who only reads does not count."""
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
