"""Finds the function for a Slurm command by its name. Each program in `shims/` calls `main`."""

from __future__ import annotations

import importlib
import os
import signal
import sys

#: Commands inside a task, with their modules.
INSIDE = {
    "hai-launch": "hai_client.slurm.launcher",
    "hai-batch": "hai_client.slurm.batch",
    "hai-provide": "hai_client.slurm.provide",
    "srun": "hai_client.slurm.srun",
    "scontrol": "hai_client.slurm.scontrol",
    "squeue": "hai_client.slurm.own_job",
    "sacct": "hai_client.slurm.own_job",
}
#: Commands on the user's side, with their module.
OUTSIDE = ("sbatch", "scancel", "sacct", "scontrol", "squeue", "srun")
#: Commands that only print.
_PRINTERS = ("sacct", "scontrol", "squeue")


def inside_task() -> bool:
    """Return whether this is a process of a task."""
    return bool(os.environ.get("HAI_RUNTIME_DIR"))


def main(name: str, words: list[str]) -> int:
    """Run the command of that name, and return its exit status."""
    if name in _PRINTERS:
        # `scontrol show hostnames | head -n 1` reads no further.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if inside_task() and name in INSIDE:
        module = importlib.import_module(INSIDE[name])
        return int(module.main(name, words) if name in ("sacct", "squeue") else module.main(words))
    if name not in OUTSIDE:
        print(f"{name}: works inside a task of HAI only", file=sys.stderr)
        return 2
    return int(importlib.import_module("hai_client.cli.slurm").main(name, words))
