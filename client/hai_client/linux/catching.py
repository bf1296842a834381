"""Finds the signals that a process catches, and the best of them to tell it that it must leave.

The kernel shows for every process the signals with a handler (`SigCgt` in /proc/PID/status). A process may also fetch
signals itself, with signalfd or sigwait. It must block those in all of its threads (`SigBlk`), or the signal ends it.
While a thread waits in sigwait, the kernel shows the awaited signals as not blocked: which they are stands in the
thread's memory, where its system call says. Any other signal that HAI may send ends the process at once, unless the
process ignores it.

What frameworks do, and what profile `auto` therefore sends:

| program | catches | is sent |
|---|---|---|
| plain Python, a training loop of PyTorch, Hugging Face Trainer, Accelerate | SIGINT, as every Python | nothing |
| Hugging Face Trainer with `enable_jit_checkpoint`, a handler of one's own | SIGTERM | SIGTERM |
| asyncio, uvloop, JAX's preemption service, Lightning outside Slurm | SIGTERM | SIGTERM |
| Lightning under Slurm's variables | SIGUSR1 to save, SIGTERM to ignore it | SIGUSR1 |
| submitit | SIGUSR2, before 1.5 SIGUSR1, to save; SIGTERM to ignore it | SIGUSR2, SIGUSR1 |
| a script for `sbatch --signal` | what it asks for, mostly SIGUSR1 | that |
| the driver of a Ray of its own | SIGTERM, to end Ray | nothing: its workers would not get it |
| torchrun's agent | SIGTERM, SIGINT, SIGHUP, SIGQUIT, to end its workers | nothing: its workers are looked at |

So where Slurm's variables are set, SIGUSR1 goes before SIGUSR2, and both go before SIGTERM: there frameworks catch
SIGTERM only to ignore it. Elsewhere SIGTERM goes first, because a handler of SIGUSR1 may only print stacks
(`faulthandler.register`). SIGINT tells nothing, because Python always catches it.
"""
# ruff: noqa: PTH123, PTH208
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import signal
import sys

from hai_client.linux.processes import read_environment

#: The signals that are looked for, in this order.
UNDER_SLURM = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)
ELSEWHERE = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_SLURM = b"SLURM_JOB_ID"
#: With `trap ... EXIT` bash catches every signal that could end it; scripts do not trap these three by name.
_EXIT_TRAP = (signal.SIGVTALRM, signal.SIGXCPU, signal.SIGXFSZ)
#: The number of the system call rt_sigtimedwait, of which sigwait and sigwaitinfo are made, by machine.
_SIGTIMEDWAIT = {"x86_64": b"128", "aarch64": b"137", "riscv64": b"137", "ppc64le": b"176", "s390x": b"177"}


class Masks:
    """Sets of signals of one process, as bits: caught by a handler, blocked by the main thread, ignored."""

    __slots__ = ("_fetched", "_pid", "blocked", "caught", "ignored")

    def __init__(self, pid: int) -> None:
        self.caught = 0
        self.blocked = 0
        self.ignored = 0
        self._pid = pid
        #: The signals that it fetches itself; None: not looked up yet.
        self._fetched: int | None = None

    def catches(self, number: int) -> bool:
        """Return whether the process has its own handling of the signal: it catches the signal, or fetches it."""
        if self.caught >> (number - 1) & 1:
            return True
        if self._fetched is None:
            self._fetched = _fetched(self._pid, self.blocked)
        return bool(self._fetched >> (number - 1) & 1)

    def traps(self, number: int) -> bool:
        """Return whether a shell traps the signal; signals that bash catches for an EXIT trap do not count."""
        return bool(self.caught >> (number - 1) & 1) and not self.has_exit_trap

    @property
    def has_exit_trap(self) -> bool:
        """Whether a bash has an EXIT trap."""
        return all(self.caught >> (number - 1) & 1 for number in _EXIT_TRAP)

    def ignores(self, number: int) -> bool:
        """Return whether the process ignores the signal."""
        return bool(self.ignored >> (number - 1) & 1)


def read_masks(pid: int) -> Masks:
    """Return the signal masks of a process; all empty if the process is gone."""
    masks = Masks(pid)
    try:
        fields = _read_status(f"/proc/{pid}/status")
        masks.caught, masks.blocked, masks.ignored = fields[b"SigCgt"], fields[b"SigBlk"], fields[b"SigIgn"]
    except (OSError, ValueError, KeyError):
        return Masks(pid)
    return masks


def _read_status(path: str) -> dict[bytes, int]:
    """Return the sets of signals in a status file of /proc. Raises OSError, ValueError."""
    with open(path, "rb", buffering=0) as file:
        lines = file.read().splitlines()
    return {line[:6]: int(line[7:], 16) for line in lines if line[:3] == b"Sig" and line[6:7] == b":"}


def _fetched(pid: int, blocked: int) -> int:
    """Return the signals that a thread waits for, and those that all threads block or wait for.

    `blocked` are those that the main thread blocks.
    """
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return 0
    awaited = [_awaited(pid, thread) for thread in threads]
    found = 0
    for one in awaited:
        found |= one
    everywhere = blocked | found
    for thread, one in zip(threads, awaited):
        # As a rule nothing is blocked: then one file a thread is enough.
        if not everywhere & ~found:
            break
        try:
            own = _read_status(f"/proc/{pid}/task/{thread}/status")[b"SigBlk"]
        except (OSError, ValueError, KeyError):
            # The thread has ended.
            continue
        everywhere &= own | one
    return everywhere | found


def _awaited(pid: int, thread: str) -> int:
    """Return the signals for which a thread waits in sigwait; none if it does not, or must not be looked at."""
    try:
        with open(f"/proc/{pid}/task/{thread}/syscall", "rb", buffering=0) as file:
            words = file.read().split()
        if len(words) < 2 or words[0] != _SIGTIMEDWAIT.get(os.uname().machine):
            return 0
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            awaited = os.pread(memory.fileno(), 8, int(words[1], 16))
    except (OSError, ValueError, OverflowError):
        return 0
    return int.from_bytes(awaited, sys.byteorder)


def candidates(pid: int) -> tuple[signal.Signals, ...]:
    """Return the signals that may tell a process to leave, the best one first."""
    return UNDER_SLURM if _SLURM in read_environment(pid) else ELSEWHERE


def best_signal(pid: int) -> int | None:
    """Return the signal that profile `auto` sends to a process; None if it catches none of the candidates."""
    masks = read_masks(pid)
    return next((number for number in candidates(pid) if masks.catches(number)), None)


def best_trap(pid: int) -> int | None:
    """Return the signal that profile `auto` sends to a shell; None if it traps none of the candidates."""
    masks = read_masks(pid)
    return next((number for number in candidates(pid) if masks.traps(number)), None)
