"""Finds the command for a submitted file: `train.py` with Python, `run.sh` with bash, `nb.ipynb` cell by cell."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

#: Unbuffered, so that output reaches the log at once.
PYTHON = ("python", "-u")
BASH = ("bash",)
NOTEBOOK = ("python", "-m", "hai_client.notebook")
_BY_SUFFIX = {".py": PYTHON, ".sh": BASH, ".bash": BASH, ".ipynb": NOTEBOOK}
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_MPI = frozenset({"mpiexec", "mpiexec.hydra", "mpirun", "orterun", "prterun"})
_PYTHONS = re.compile(r"python(\d(\.\d+)?)?")
#: Variables that only a rank has: a command that contains one means the rank's value.
_OF_RANKS = re.compile(
    r"\$(?:\{)?((?:HAI|PET|SLURM|OMPI|NCCL)_[A-Z0-9_]+|MASTER_(?:ADDR|IP|PORT)|WORLD_SIZE|RANK|LOCAL_RANK|NODE_RANK"
    r"|CUDA_VISIBLE_DEVICES)\b"
)


def command_of(words: Sequence[str], cwd: str) -> list[str]:
    """Return the command for the words that the user typed: a file is run by its suffix, other words are the command.

    A program with a slash in its name that can be executed as it is, as `./train.py` with its `#!`, is left alone.
    `python nb.ipynb` is the notebook, too, as no Python can run it.
    """
    first = words[0]
    suffix = PurePath(first).suffix.lower()
    if _PYTHONS.fullmatch(PurePath(first).name) is not None:
        return _python(words)
    if suffix not in _BY_SUFFIX:
        return list(words)
    if "/" in first and suffix != ".ipynb" and os.access(Path(cwd) / first, os.X_OK):
        return list(words)
    # A name that begins with a dash would be read as an option.
    return [*_BY_SUFFIX[suffix], f"./{first}" if first.startswith("-") else first, *words[1:]]


def _python(words: Sequence[str]) -> list[str]:
    script = next((at for at, word in enumerate(words[1:], 1) if not word.startswith("-")), None)
    if script is None or not words[script].lower().endswith(".ipynb") or "-m" in words[:script]:
        return list(words)
    return [words[0], *NOTEBOOK[1:], *words[script:]]


def apart(command: Sequence[str], nodes: int) -> str | None:
    """Return a message for a command that would be a training of its own on each node, with the remedy; else None.

    A task starts its command on all of its nodes, where these launchers want to be started on one, and to reach the
    others by themselves.
    """
    name = PurePath(command[0]).name if command else ""
    if nodes == 1:
        return None
    if name in _MPI:
        return (
            f"command: {name} would start on each of the {nodes} nodes, with a training of its own there; write it "
            f'into a batch script, where it spans them: eval "$(hai slurm env)", then sbatch --nodes={nodes} SCRIPT'
        )
    if name == "deepspeed" and "--no_ssh" not in command:
        return (
            f"command: deepspeed would start on each of the {nodes} nodes, and reach the others over ssh, which is not "
            "there; let it start one node's processes: --provide mpi --shell 'deepspeed --hostfile $HAI_HOSTFILE "
            "--no_ssh --node_rank $HAI_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT ...'"
        )
    return None


def unexpanded(command: Sequence[str]) -> str | None:
    """Return a warning for a command with a variable such as `$MASTER_ADDR` that no shell will expand; else None."""
    for word in command:
        if PurePath(word).name in _SHELLS:
            return None
        found = _OF_RANKS.search(word)
        if found is not None:
            return (
                f"your command has ${found[1]}, which no shell will expand: use --shell 'THE WHOLE LINE' (or bash -c "
                "'...'); a program that reads the variable itself is fine"
            )
    return None
