"""Finds the function for a Slurm command by its name. The programs in `shims/` call it."""

from __future__ import annotations

import importlib
import os
import sys

from hai_client.errors import HaiError
from hai_client.launching.hostlist import BadHostlist
from hai_client.launching.programs import guarded
from hai_slurm.shared.getting import BadOption

#: Commands inside a task, with their modules.
INSIDE = {
    "hai-batch": "hai_slurm.tasks.batch",
    "srun": "hai_slurm.tasks.srun",
    "scontrol": "hai_slurm.tasks.scontrol",
    "squeue": "hai_slurm.tasks.own_job",
    "sacct": "hai_slurm.tasks.own_job",
}
#: Commands on the user's side, with their module.
OUTSIDE = ("sbatch", "scancel", "sacct", "scontrol", "sinfo", "squeue", "srun")
#: The version whose options and tables these commands know.
VERSION = "23.02.0"


def inside_task() -> bool:
    """Return whether this is a process of a task."""
    return bool(os.environ.get("HAI_RUNTIME_DIR"))


def main(name: str, words: list[str]) -> int:
    """Run the command of that name, and return its exit status: Slurm's is 1 for every error."""
    return guarded(name, lambda: _run(name, words), (HaiError, BadHostlist, BadOption))


def _run(name: str, words: list[str]) -> int:
    if inside_task() and name in INSIDE:
        module = importlib.import_module(INSIDE[name])
        return int(module.main(name, words) if name in ("sacct", "squeue") else module.main(words))
    if name not in OUTSIDE:
        print(f"{name}: works inside a task of HAI only", file=sys.stderr)
        return 2
    if words in (["--version"], ["-V"]):
        print(f"slurm {VERSION} (HAI)")
        return 0
    if words in (["--help"], ["--usage"]):
        print(
            f"{name} of HAI: docs/users.md, 'Coming from Slurm', has its options; `hai --help` lists HAI's own commands"
        )
        return 0
    return int(importlib.import_module("hai_slurm.users.commands").main(name, words))
