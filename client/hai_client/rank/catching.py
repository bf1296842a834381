"""Which signals a process catches, and which of them tells it best that it must leave.

The kernel says for every process which signals it has a handler for (`SigCgt` in /proc/PID/status) and which it holds
back to fetch them itself (`SigBlk`: signalfd, sigwait). Any other signal that HAI may send ends the process on the
spot, unless it ignores that.

What frameworks do, and what profile `auto` therefore sends:

| program | catches | is sent |
|---|---|---|
| plain Python, a training loop of PyTorch, Hugging Face Trainer, Accelerate | SIGINT, as every Python | nothing |
| Hugging Face Trainer with `enable_jit_checkpoint`, a handler of one's own | SIGTERM | SIGTERM |
| asyncio, uvloop, JAX's preemption service, Lightning outside Slurm | SIGTERM | SIGTERM |
| Lightning under Slurm's variables | SIGUSR1 to save, SIGTERM to pass it over | SIGUSR1 |
| submitit | SIGUSR2, before 1.5 SIGUSR1, to save; SIGTERM to pass it over | SIGUSR2, SIGUSR1 |
| a script for `sbatch --signal` | what it asks for, mostly SIGUSR1 | that |
| the driver of a Ray of its own | SIGTERM, to end Ray | nothing: its workers would not hear of it |
| torchrun's agent | SIGTERM, SIGINT, SIGHUP, SIGQUIT, to end its workers | nothing: its workers are looked at |

So SIGUSR1 goes before SIGUSR2, and both go before SIGTERM, where Slurm's variables are set: there SIGTERM is what
everybody passes over. Elsewhere SIGTERM goes first: SIGUSR1 may as well print stacks (`faulthandler.register`). SIGINT
says nothing, because Python always catches it.
"""
# ruff: noqa: PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import signal

from hai_client.rank.processes import read_environment

#: In this order they are looked for.
UNDER_SLURM = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)
ELSEWHERE = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_SLURM = b"SLURM_JOB_ID"
#: bash catches all that could end it as soon as a script has said `trap ... EXIT`; nobody traps these by name.
_EXIT_TRAP = (signal.SIGVTALRM, signal.SIGXCPU, signal.SIGXFSZ)


class Masks:
    """Sets of signals of one process, as bits: caught by a handler, held back, ignored."""

    __slots__ = ("blocked", "caught", "ignored")

    def __init__(self, caught: int = 0, blocked: int = 0, ignored: int = 0) -> None:
        self.caught = caught
        self.blocked = blocked
        self.ignored = ignored

    def catches(self, number: int) -> bool:
        """Whether the process does something of its own when the signal comes."""
        return bool((self.caught | self.blocked) >> (number - 1) & 1)

    def traps(self, number: int) -> bool:
        """Whether a shell does: what bash catches for the sake of an EXIT trap does not count."""
        return bool(self.caught >> (number - 1) & 1) and not self.has_exit_trap

    @property
    def has_exit_trap(self) -> bool:
        """Whether a bash has something to do at its end."""
        return all(self.caught >> (number - 1) & 1 for number in _EXIT_TRAP)

    def ignores(self, number: int) -> bool:
        """Whether the signal does nothing at all."""
        return bool(self.ignored >> (number - 1) & 1)


def read_masks(pid: int) -> Masks:
    """What the process does about signals; of one that is gone: nothing."""
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
    """The signals that may tell a process to leave, the best one first."""
    return UNDER_SLURM if _SLURM in read_environment(pid) else ELSEWHERE


def best_signal(pid: int) -> int | None:
    """The signal that profile `auto` sends to a process; None if it catches none that means anything."""
    masks = read_masks(pid)
    return next((number for number in candidates(pid) if masks.catches(number)), None)


def best_trap(pid: int) -> int | None:
    """The same for a shell."""
    masks = read_masks(pid)
    return next((number for number in candidates(pid) if masks.traps(number)), None)
