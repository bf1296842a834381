"""Slurm's commands for users, over HAI's API: `sbatch`, `squeue`, `scancel`, `sacct`, `scontrol`, `srun`.

`eval "$(hai slurm env)"` puts them on PATH. docs/users.md, "Coming from Slurm", lists the options they know.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output, clean
from hai_client.cli.slurm import control, listing, submitting
from hai_client.errors import HaiError
from hai_client.slurm.hostlist import BadHostlist
from hai_client.slurm.options import BadOption
from hai_client.slurm.tables import TableError

_COMMANDS: dict[str, Callable[[Sequence[str], Context], int]] = {
    "sbatch": submitting.sbatch,
    "srun": submitting.srun,
    "squeue": listing.squeue,
    "sacct": listing.sacct,
    "scancel": control.scancel,
    "scontrol": control.scontrol,
}
VERSION = "slurm 23.02.0 (HAI)"
INTERRUPTED = 130


def main(name: str, words: Sequence[str]) -> int:
    """Run the command of that name, and return its exit status."""
    if list(words) in (["--version"], ["-V"]):
        print(VERSION)
        return 0
    try:
        return _COMMANDS[name](words, Context(Output.of_process()))
    except (BadOption, BadHostlist, TableError) as error:
        return _complain(name, str(error), 1)
    except HaiError as error:
        if os.environ.get("HAI_DEBUG"):
            raise
        return _complain(name, error.message, error.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED


def _complain(name: str, message: str, code: int) -> int:
    print(f"{name}: error: {clean(message)}", file=sys.stderr)
    return code
