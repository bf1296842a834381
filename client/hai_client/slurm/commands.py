"""Finds the function for a Slurm command by its name, and turns every error into a line.

The programs in `shims/` call it.
"""

from __future__ import annotations

import importlib
import os
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
OUTSIDE = ("sbatch", "scancel", "sacct", "scontrol", "sinfo", "squeue", "srun")
#: The version whose options and tables these commands know.
VERSION = "23.02.0"
#: Slurm's exit status for every error, and those of the shell for Ctrl-C and for a reader that has gone.
FAILED, INTERRUPTED, NOBODY_READS = 1, 130, 141


def inside_task() -> bool:
    """Return whether this is a process of a task."""
    return bool(os.environ.get("HAI_RUNTIME_DIR"))


def main(name: str, words: list[str]) -> int:
    """Run the command of that name, and return its exit status.

    This is the outermost place: nobody gets a traceback, unless HAI_DEBUG is set.
    """
    try:
        if hasattr(sys.stdout, "reconfigure"):
            # A character that cannot be shown must not end the command.
            sys.stdout.reconfigure(errors="backslashreplace")
        code = _run(name, words)
        if sys.stdout is not None:
            # `scontrol show hostnames | head -n 1` reads no further.
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        importlib.import_module("hai_client.cli.shared.complaints").forget_stdout()
        return NOBODY_READS
    except Exception as error:
        if os.environ.get("HAI_DEBUG"):
            raise
        _complain(name, error)
        return FAILED
    return code


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
    return int(importlib.import_module("hai_client.cli.slurm").main(name, words))


def _complain(name: str, error: Exception) -> None:
    """Print an error in one line."""
    from hai_client.errors import HaiError
    from hai_client.slurm.hostlist import BadHostlist
    from hai_client.slurm.options import BadOption

    known = isinstance(error, (HaiError, BadHostlist, BadOption))
    what = str(error) if known else f"unexpected {type(error).__name__}: {error}; HAI_DEBUG=1 shows where"
    line = "".join(letter if letter.isprintable() else " " for letter in what)
    print(f"{name}: error: {line.strip()}", file=sys.stderr)
