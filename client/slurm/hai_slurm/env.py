"""`hai slurm env`: puts Slurm's commands on PATH."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_client.cli.shared.parser import Command, build

SHIMS = Path(__file__).parent / "shims"


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="env", choices=["env"], help="print the line of shell that puts them on PATH")


def _slurm(_args: argparse.Namespace, ctx: Context) -> int:
    folder = str(SHIMS)
    parts = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part != folder]
    real = shutil.which("sbatch", path=os.pathsep.join(parts))
    if real is not None:
        ctx.out.note(f"there is a Slurm here already ({real}); in this shell HAI's commands now come first")
    ctx.out.line(f'export PATH={shlex.quote(folder)}:"$PATH"')
    return 0


COMMAND = Command(
    "slurm",
    _configure,
    _slurm,
    about="Slurm's commands over HAI: sbatch, srun, squeue, sacct, sinfo, scancel and scontrol.",
    examples='examples:\n  eval "$(hai slurm env)"\n  sbatch train.sh',
)


def command(argv: Sequence[str]) -> int:
    """Run `hai slurm`, and return its exit status."""
    return _slurm(build(COMMAND).parse_args(argv), Context(Output.of_process()))
