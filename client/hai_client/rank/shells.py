"""Keeping the shells of a rank from starting their next command once the job was told to leave.

A shell above a worker is stopped (SIGSTOP) before the worker is told, so that no moment is left between the worker's
end and the next command. When all of its children have left, it is ended with them: SIGTERM waits for it when it goes
on, and comes first. How the children ended is what the shell would have said, and is kept.

Two kinds of shells are not stopped: one that traps the signal is told as well and left to its trap; and one that
reads what its children write (`result=$(python train.py)`), because they would wait for it for ever. The latter is
ended as soon as its children are seen to have left.
"""

from __future__ import annotations

import signal

from hai_client.rank.catching import read_masks
from hai_client.rank.identity import acting_as
from hai_client.rank.openfiles import pipes
from hai_client.rank.processes import Process, descendants, read_end, read_process, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hai_client.rank.identity import Account


class _Shell:
    """A shell that is to start nothing more: which process it is, and its children then, by pid with start times."""

    __slots__ = ("children", "ended_at", "start")

    def __init__(self, start: int, children: dict[int, int]) -> None:
        self.start = start
        self.children = children
        #: When it was sent SIGTERM, monotonic seconds.
        self.ended_at: float | None = None


class Shells:
    """The shells of a rank that are to start nothing more.

    Args:
        wait_s: How long a shell has between SIGTERM (it may trap that, or the end of the script) and SIGKILL.
    """

    def __init__(self, account: Account | None, wait_s: float) -> None:
        self._account = account
        self._wait_s = wait_s
        self._kept: dict[int, _Shell] = {}
        #: Those that could not be stopped.
        self._going_on: set[int] = set()
        #: How what a shell waited for has ended, by the pid of the shell, as `os.wait` says it.
        self._ends: dict[int, int] = {}
        #: Shells that were ended and do then what their EXIT traps say.
        self._cleaning: set[int] = set()

    def keep(self, table: Mapping[int, Process], shells: Mapping[int, Iterable[int]]) -> bool:
        """Let these shells, given with their children, start nothing more; whether any of them is new."""
        new = False
        for pid, children in shells.items():
            if pid in self._kept or pid not in table:
                continue
            new = True
            self._kept[pid] = _Shell(table[pid].start, {child: table[child].start for child in children})
            if self._reads_from_below(table, pid):
                self._going_on.add(pid)
            else:
                send(pid, signal.SIGSTOP)
        return new

    def step(self, table: Mapping[int, Process], now: float) -> None:
        """End the shells whose children have left (now: monotonic seconds)."""
        # Inner ones first: how they ended is how what they ran did.
        for pid, shell in reversed(list(self._kept.items())):
            process = table.get(pid)
            if process is None or process.start != shell.start or process.zombie:
                continue
            if shell.ended_at is None:
                if not any(_is_there(table, child, start) for child, start in shell.children.items()):
                    self.end(pid, now)
            elif now - shell.ended_at >= self._wait_s:
                send(pid, signal.SIGKILL)

    def end(self, pid: int, now: float) -> None:
        """End a shell now, whether it is kept or not; one that does not heed SIGTERM is killed."""
        process = read_process(pid)
        if process is None:
            return
        shell = self._kept.setdefault(pid, _Shell(process.start, {}))
        if shell.ended_at is None:
            shell.ended_at = now
            self._note_end(pid, shell)
        masks = read_masks(pid)
        if masks.has_exit_trap:
            self._cleaning.add(pid)
        send(pid, signal.SIGKILL if masks.ignores(signal.SIGTERM) else signal.SIGTERM)
        send(pid, signal.SIGCONT)

    def is_kept(self, pid: int) -> bool:
        """Whether the shell is to start nothing more."""
        return pid in self._kept

    def is_stopped(self, pid: int) -> bool:
        """Whether the shell was stopped for that, or told to end already."""
        return pid in self._kept and (pid not in self._going_on or self.is_ended(pid))

    def stand_for(self, pid: int, end: int) -> None:
        """A process is ended that was only waiting for others: it counts as ended like these, as `os.wait` says it."""
        self._ends[pid] = end

    def is_ended(self, pid: int) -> bool:
        """Whether the shell was told to end already."""
        shell = self._kept.get(pid)
        return shell is not None and shell.ended_at is not None

    def is_cleaning_up(self, pid: int) -> bool:
        """Whether the shell was told to end and may start something for that."""
        return pid in self._cleaning

    def end_of_stage(self, pid: int) -> int | None:
        """How the command ended that a shell was waiting for when it was ended; None if that is not known."""
        return self._ends.get(pid)

    def _note_end(self, pid: int, shell: _Shell) -> None:
        ends = [self._ends[child] if child in self._ends else read_end(child) for child in shell.children]
        known = [end for end in ends if end is not None]
        if known:
            self._ends[pid] = next((end for end in known if end), 0)

    def _reads_from_below(self, table: Mapping[int, Process], pid: int) -> bool:
        with acting_as(self._account):
            read, _ = pipes(pid)
            return bool(read) and any(read & pipes(child)[1] for child in descendants(table, (pid,)))


def _is_there(table: Mapping[int, Process], pid: int, start: int) -> bool:
    process = table.get(pid)
    return process is not None and process.start == start and not process.zombie
