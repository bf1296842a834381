"""Commands that only start the processes that train, each with a LOCAL_RANK of its own: torchrun and its like.

The supervisor of a rank knows a worker by its LOCAL_RANK. So such a command gets none, neither does a shell around it.

MPI numbers its processes in variables of its own, and programs fall back on those where torch's are not set. So the
daemon that `mpirun` starts on each node gets none of torch's: all its processes would take over the same numbers.
"""
# ruff: noqa: PTH118, PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAMS = frozenset({"accelerate", "deepspeed", "torchrun"})
_MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"})
#: The daemons of MPICH and its relatives, and of Open MPI.
_MPI_DAEMONS = frozenset({"hydra_bstrap_proxy", "hydra_pmi_proxy", "orted", "prted"})
_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_NAMED = re.compile(
    rb"^[^#\n]*\b(torchrun|accelerate launch|deepspeed|torch\.distributed\.(run|launch))\b", re.MULTILINE
)
#: Size of the part of a script that is searched, bytes.
_READ = 64 * 1024


def starts_workers(command: Sequence[str], cwd: str | None, *, alone: bool) -> bool:
    """Return whether the command only starts the processes that train.

    Args:
        command: The program and its arguments.
        cwd: The folder in which it starts; None: the current one.
        alone: Whether it is the only task of its node. Then a script of shell that names such a program counts too; of
            several tasks each needs to know which it is.
    """
    if any(word.rpartition("/")[2] in _PROGRAMS for word in command[:2]) or set(command[:6]) & _MODULES:
        return True
    return alone and _NAMED.search(_script(command, cwd)) is not None


def starts_mpi(command: Sequence[str]) -> bool:
    """Return whether the command is the daemon by which `mpirun` starts its processes on a node."""
    return command[0].rpartition("/")[2] in _MPI_DAEMONS


def _script(command: Sequence[str], cwd: str | None) -> bytes:
    """Return the beginning of the shell script that a command executes; empty if it executes none."""
    shell = command[0].rpartition("/")[2] in _SHELLS
    words = [word for word in command[1:] if not word.startswith("-")] if shell else list(command)
    if shell and any(re.match(r"-[a-z]*c$", word) for word in command[1:]):
        return words[0].encode(errors="replace") if words else b""
    try:
        with open(os.path.join(cwd or "", words[0]), "rb") as file:
            text = file.read(_READ)
    except (OSError, IndexError, ValueError):
        return b""
    return text if shell or re.match(rb"#![^\n]*\b(ba|da|k|z)?sh\b", text) else b""
