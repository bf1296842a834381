"""Holds new processes of a shell before their first instruction, with ptrace(2), without stopping the shell itself.

After the notice a shell may come to its own end, so it goes on; but what it starts then must not begin. The kernel
stops a new process of a watched shell before its first instruction, and the shell with it. It does the same when the
shell turns into another program (`exec`, or the last command of `bash -c`). `stages` decides whether
these processes go on.

No shell is watched before the notice. This process has to answer once for each signal that a watched shell gets. All
calls must come from one thread. Where ptrace is not allowed (Yama's level 2 and above, some seccomp profiles, a
debugger that is attached already) `watch` returns False, and no process is held.
"""

from __future__ import annotations

import ctypes
import os
import signal

from hai_client.linux.catching import read_masks
from hai_client.linux.processes import send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hai_client.linux.processes import Process

_CONT, _DETACH, _GETEVENTMSG, _SEIZE, _LISTEN = 7, 17, 0x4201, 0x4206, 0x4208
_EVENT_FORK, _EVENT_VFORK, _EVENT_EXEC, _EVENT_STOP = 1, 2, 4, 128
_TRACE_FORK, _TRACE_VFORK, _TRACE_EXEC = 1 << _EVENT_FORK, 1 << _EVENT_VFORK, 1 << _EVENT_EXEC
#: Held processes die with this process, so that they never begin.
_EXIT_KILL = 0x100000
_OPTIONS = _TRACE_FORK | _TRACE_VFORK | _TRACE_EXEC | _EXIT_KILL
_STOPPING = frozenset({signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Births:
    """The watched shells, and the processes that they have started since."""

    def __init__(self) -> None:
        self._watched: set[int] = set()
        self._refused: set[int] = set()
        #: By the pid of a shell, the pid of the process that it has started; the shell waits.
        self._newborns: dict[int, int] = {}
        #: Shells that have become another program.
        self._turned: set[int] = set()
        #: New processes that are stopped before their first instruction.
        self._new: set[int] = set()
        #: Shells to stop watching at their next stop.
        self._leaving: set[int] = set()

    @property
    def watched(self) -> list[int]:
        """Return the pids of the watched shells."""
        return list(self._watched)

    @property
    def held(self) -> set[int]:
        """Return the pids of the processes that are held before they begin."""
        return set(self._newborns.values())

    @property
    def waiting(self) -> Iterator[tuple[int, int]]:
        """Yield shells that wait for a decision, each with the pid of its new process.

        That is the shell's own pid if the shell has become another program.
        """
        yield from list(self._newborns.items())
        for pid in list(self._turned):
            yield pid, pid

    def watches(self, pid: int) -> bool:
        """Return whether this process is watched: what it starts is held."""
        return pid in self._watched

    def watch(self, pid: int) -> bool:
        """Watch a shell; return whether it was not watched before. It may have started something just before."""
        if pid in self._watched or pid in self._refused:
            return False
        if not _ptrace(_SEIZE, pid, _OPTIONS):
            self._refused.add(pid)
            return False
        self._watched.add(pid)
        return True

    def forget(self, alive: Mapping[int, Process]) -> None:
        """Forget processes that are gone, and kill new processes whose shell was killed, so that they never begin."""
        for pids in (self._watched, self._refused, self._turned, self._leaving, self._new):
            pids -= {pid for pid in pids if pid not in alive}
        for pid in self._new:
            if alive[pid].parent not in self._watched:
                send(pid, signal.SIGKILL)
        self._newborns = {shell: newborn for shell, newborn in self._newborns.items() if shell in alive}

    def take(self, pid: int, status: int) -> None:
        """Handle the stop of a traced process, with the status of `os.waitpid`."""
        event, number = status >> 16, os.WSTOPSIG(status)
        if pid not in self._watched:
            # A new process: the stop of its shell, which may come later, says whose it is.
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
        """End the process that a shell has started or become, and watch the shell no more: it was sent a signal."""
        newborn = self._newborns.pop(pid, None)
        if newborn is not None:
            send(newborn, signal.SIGKILL)
            self._detach(pid)
        elif pid in self._turned:
            # The new program has no handlers yet, and dies before it begins.
            masks = read_masks(pid)
            deaf = masks.ignores(signal.SIGTERM) or masks.catches(signal.SIGTERM)
            send(pid, signal.SIGKILL if deaf else signal.SIGTERM)
            self._detach(pid)
        elif pid in self._watched:
            self._leaving.add(pid)

    def end_all(self) -> None:
        """Do as `end` does for all watched shells: each was sent a signal to end, or will be."""
        for pid in list(self._watched):
            self.end(pid)

    def _detach(self, pid: int, number: int = 0) -> None:
        self._watched.discard(pid)
        self._leaving.discard(pid)
        self._turned.discard(pid)
        _ptrace(_DETACH, pid, number)


def _newborn_of(pid: int) -> int:
    """Return the pid of the process that this one has just started; 0 if this one was killed meanwhile."""
    message = ctypes.c_ulong()
    _libc.ptrace(_GETEVENTMSG, pid, None, ctypes.addressof(message))
    return message.value


def _ptrace(request: int, pid: int, data: int = 0) -> bool:
    """Call ptrace, and return whether it worked. It fails for a process that was killed meanwhile; that is harmless."""
    done: bool = _libc.ptrace(request, pid, None, data) == 0
    return done
