"""Slurm's commands for users, over HAI's API: `sbatch`, `squeue`, `scancel`, `sacct`, `scontrol`, `sinfo`, `srun`.

`eval "$(hai slurm env)"` puts them on PATH. docs/users.md, "Coming from Slurm", lists the options they know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_slurm.users import control, listing, submitting

_COMMANDS: dict[str, Callable[[Sequence[str], Context], int]] = {
    "sbatch": submitting.sbatch,
    "srun": submitting.srun,
    "squeue": listing.squeue,
    "sacct": listing.sacct,
    "sinfo": listing.sinfo,
    "scancel": control.scancel,
    "scontrol": control.scontrol,
}


def main(name: str, words: Sequence[str]) -> int:
    """Run the command of that name, and return its exit status; hai_slurm.commands says what errors become."""
    return _COMMANDS[name](words, Context(Output.of_process()))
