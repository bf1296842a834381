"""Keeps the shells of a rank from starting their next command after a notice.

A shell above a worker is stopped (SIGSTOP) before the worker gets its signal, so that the shell cannot start its next
command when the worker ends. When all of its children have left, the shell is ended: SIGTERM is pending when it is
continued, and so comes first. The children's wait status is kept, as the shell would have ended with it.

Two kinds of shells are not stopped. A shell that traps the signal gets it too, and is left to its trap. A shell that
reads the output of its children (`result=$(python train.py)`) goes on, because they could not end while it does not
read; it is ended as soon as its children have left.
"""

from __future__ import annotations

import signal

from hai_client.linux.catching import read_masks
from hai_client.linux.identity import acting_as
from hai_client.linux.openfiles import pipes
from hai_client.linux.processes import Process, descendants, read_end, read_process, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hai_client.linux.identity import Account


class _Shell:
    """A shell that must start nothing more: its start time, and the start times of its children by pid."""

    __slots__ = ("children", "ended_at", "start")

    def __init__(self, start: int, children: dict[int, int]) -> None:
        self.start = start
        self.children = children
        #: When it was sent SIGTERM, monotonic seconds.
        self.ended_at: float | None = None


class Shells:
    """The shells of a rank that must start nothing more.

    Args:
        account: The Unix account of the task; None: the account of this process.
        wait_s: Time between SIGTERM, which a shell may trap, and SIGKILL, seconds.
    """

    def __init__(self, account: Account | None, wait_s: float) -> None:
        self._account = account
        self._wait_s = wait_s
        self._kept: dict[int, _Shell] = {}
        #: By the pid of a shell, the wait status (`os.wait`) of the command that it waited for.
        self._ends: dict[int, int] = {}
        #: Shells that were ended and are running their EXIT traps.
        self._cleaning: set[int] = set()

    def keep(self, table: Mapping[int, Process], shells: Mapping[int, Iterable[int]]) -> bool:
        """Let these shells, given with their children, start nothing more; return whether any of them is new."""
        new = False
        for pid, children in shells.items():
            if pid in self._kept or pid not in table:
                continue
            new = True
            self._kept[pid] = _Shell(table[pid].start, {child: table[child].start for child in children})
            if not self._reads_from_below(table, pid):
                send(pid, signal.SIGSTOP)
        return new

    def step(self, table: Mapping[int, Process], now: float) -> None:
        """End the shells whose children have left (now: monotonic seconds)."""
        # Inner shells first: an outer shell takes over their status.
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
        """End a shell now, kept or not; with SIGKILL if it ignores SIGTERM."""
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

    def stand_for(self, pid: int, end: int) -> None:
        """Set the wait status (`os.wait`) that counts for a process that only waited for others."""
        self._ends[pid] = end

    def is_ended(self, pid: int) -> bool:
        """Return whether the shell got SIGTERM already."""
        shell = self._kept.get(pid)
        return shell is not None and shell.ended_at is not None

    def is_cleaning_up(self, pid: int) -> bool:
        """Return whether the shell got SIGTERM and may run its EXIT trap."""
        return pid in self._cleaning

    def end_of_stage(self, pid: int) -> int | None:
        """Return the wait status of the command that a shell was waiting for when it was ended; None: not known."""
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
