"""Holding what a shell starts, before it has done anything: ptrace(2), without stopping the shell itself.

A shell may come to its end after the notice, and so must go on; what it starts then must not begin. The kernel stops a
new process of a watched shell before its first instruction, and the shell with it; it does the same when the shell
turns into another program (`exec`, or the last command of `bash -c`). Whether these go on is decided elsewhere.

Nothing is watched before the notice. A watched shell costs one answer of this process for each signal that it gets.
All calls have to come from one thread. Where ptrace is not allowed (Yama's level 2 and above, some seccomp profiles, a
debugger that is there already) `watch` says so, and nothing is held.
"""

from __future__ import annotations

import ctypes
import os
import signal

from hai_client.rank.catching import read_masks
from hai_client.rank.processes import send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hai_client.rank.processes import Process

_CONT, _DETACH, _GETEVENTMSG, _SEIZE, _LISTEN = 7, 17, 0x4201, 0x4206, 0x4208
_EVENT_FORK, _EVENT_VFORK, _EVENT_EXEC, _EVENT_STOP = 1, 2, 4, 128
_TRACE_FORK, _TRACE_VFORK, _TRACE_EXEC = 1 << _EVENT_FORK, 1 << _EVENT_VFORK, 1 << _EVENT_EXEC
#: What is held dies with this process, rather than begin.
_EXIT_KILL = 0x100000
_OPTIONS = _TRACE_FORK | _TRACE_VFORK | _TRACE_EXEC | _EXIT_KILL
_STOPPING = frozenset({signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Births:
    """The shells that are watched, and what they have started since."""

    def __init__(self) -> None:
        self._watched: set[int] = set()
        self._refused: set[int] = set()
        #: What each shell has started, by its pid; the shell waits.
        self._newborns: dict[int, int] = {}
        #: Shells that have become another program.
        self._turned: set[int] = set()
        #: Processes that have stopped before they begin.
        self._new: set[int] = set()
        #: Shells that are no longer watched when they stop the next time.
        self._leaving: set[int] = set()

    @property
    def watched(self) -> list[int]:
        """The shells."""
        return list(self._watched)

    @property
    def held(self) -> set[int]:
        """Processes that have not begun."""
        return set(self._newborns.values())

    @property
    def waiting(self) -> Iterator[tuple[int, int]]:
        """Shells that wait to be answered, each with what it has started: itself, if it has become that."""
        yield from list(self._newborns.items())
        for pid in list(self._turned):
            yield pid, pid

    def watches(self, pid: int) -> bool:
        """Whether nothing that the process starts begins by itself."""
        return pid in self._watched

    def watch(self, pid: int) -> bool:
        """Watch a shell; whether that is new. It may have started something just before."""
        if pid in self._watched or pid in self._refused:
            return False
        if not _ptrace(_SEIZE, pid, _OPTIONS):
            self._refused.add(pid)
            return False
        self._watched.add(pid)
        return True

    def forget(self, alive: Mapping[int, Process]) -> None:
        """Leave out whoever is there no more; what a shell had started that was killed does not begin either."""
        for pids in (self._watched, self._refused, self._turned, self._leaving, self._new):
            pids -= {pid for pid in pids if pid not in alive}
        for pid in self._new:
            if alive[pid].parent not in self._watched:
                send(pid, signal.SIGKILL)
        self._newborns = {shell: newborn for shell, newborn in self._newborns.items() if shell in alive}

    def take(self, pid: int, status: int) -> None:
        """A process has stopped for this one, as `os.waitpid` says."""
        event, number = status >> 16, os.WSTOPSIG(status)
        if pid not in self._watched:
            # It waits, and its shell's own stop says whose it is: that may come later.
            self._new.add(pid)
            return
        if event in (_EVENT_FORK, _EVENT_VFORK):
            newborn = _newborn_of(pid)
            if newborn:
                self._newborns[pid] = newborn
        elif event == _EVENT_EXEC:
            self._turned.add(pid)
        elif pid in self._leaving:
            self._detach(pid, 0 if event else number)
        elif event == _EVENT_STOP and number in _STOPPING:
            # It stays stopped until it gets SIGCONT.
            _ptrace(_LISTEN, pid)
        else:
            _ptrace(_CONT, pid, 0 if event else number)
        if pid in self._leaving and (pid in self._newborns or pid in self._turned):
            self.end(pid)

    def allow(self, pid: int) -> None:
        """Let a shell that has become another program go on, unwatched."""
        if pid in self._turned:
            self._detach(pid)

    def end(self, pid: int) -> None:
        """End what a shell has started or become, if anything, and watch it no more: it was sent a signal to end."""
        newborn = self._newborns.pop(pid, None)
        if newborn is not None:
            send(newborn, signal.SIGKILL)
            self._detach(pid)
        elif pid in self._turned:
            # It has no handlers any more, and dies before it begins.
            masks = read_masks(pid)
            deaf = masks.ignores(signal.SIGTERM) or masks.catches(signal.SIGTERM)
            send(pid, signal.SIGKILL if deaf else signal.SIGTERM)
            self._detach(pid)
        elif pid in self._watched:
            self._leaving.add(pid)

    def end_all(self) -> None:
        """All that is watched was sent a signal to end, or will be."""
        for pid in list(self._watched):
            self.end(pid)

    def _detach(self, pid: int, number: int = 0) -> None:
        self._watched.discard(pid)
        self._leaving.discard(pid)
        self._turned.discard(pid)
        _ptrace(_DETACH, pid, number)


def _newborn_of(pid: int) -> int:
    """What a process has just started; 0 if it was killed meanwhile."""
    message = ctypes.c_ulong()
    _libc.ptrace(_GETEVENTMSG, pid, None, ctypes.addressof(message))
    return message.value


def _ptrace(request: int, pid: int, data: int = 0) -> bool:
    """Ask the kernel; whether it did so. A process that was killed meanwhile needs nothing."""
    done: bool = _libc.ptrace(request, pid, None, data) == 0
    return done
