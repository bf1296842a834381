"""Finds the signals that a process catches, and the best of them to tell it that it must leave.

The kernel shows for every process the signals with a handler (`SigCgt` in /proc/PID/status) and the blocked ones,
which it may fetch itself (`SigBlk`: signalfd, sigwait). Any other signal that HAI may send ends the process at once,
unless the process ignores it.

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
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import signal

from hai_client.rank.processes import read_environment

#: The signals that are looked for, in this order.
UNDER_SLURM = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)
ELSEWHERE = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_SLURM = b"SLURM_JOB_ID"
#: With `trap ... EXIT` bash catches every signal that could end it; scripts do not trap these three by name.
_EXIT_TRAP = (signal.SIGVTALRM, signal.SIGXCPU, signal.SIGXFSZ)


class Masks:
    """Sets of signals of one process, as bits: caught by a handler, blocked, ignored."""

    __slots__ = ("blocked", "caught", "ignored")

    def __init__(self, caught: int = 0, blocked: int = 0, ignored: int = 0) -> None:
        self.caught = caught
        self.blocked = blocked
        self.ignored = ignored

    def catches(self, number: int) -> bool:
        """Return whether the process has its own handling of the signal: it catches or blocks it."""
        return bool((self.caught | self.blocked) >> (number - 1) & 1)

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
    masks = Masks()
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            lines = file.read().splitlines()
        for line in lines:
            if line.startswith(b"SigCgt:"):
                masks.caught = int(line.split()[1], 16)
            elif line.startswith(b"SigBlk:"):
                masks.blocked = int(line.split()[1], 16)
            elif line.startswith(b"SigIgn:"):
                masks.ignored = int(line.split()[1], 16)
    except (OSError, ValueError, IndexError):
        return Masks()
    return masks


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
