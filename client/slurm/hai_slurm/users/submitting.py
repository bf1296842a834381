"""`sbatch` and, outside of a task, `srun`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hai_client.cli.shared.context import Context
from hai_client.cli.submitting.snapshot_options import with_snapshot
from hai_client.cli.submitting.submit import folder
from hai_client.cli.tasks import forecast
from hai_client.cli.tasks.follow import follow_to_end
from hai_client.wire.schema import TaskRequest
from hai_slurm.shared.getting import BadOption
from hai_slurm.shared.options import SRUN, Words, read
from hai_slurm.users.request import SlurmRequest, asked
from hai_slurm.users.rows import status_of
from hai_slurm.users.script import read_script


def sbatch(argv: Sequence[str], ctx: Context) -> int:
    """Submit a script, and print its job id: `Submitted batch job 41`."""
    here = folder()
    script = read_script(argv, directory=Path(here))
    task = asked(script.words, name=script.name, cwd=here, env=os.environ)
    _tell("sbatch", script.words, task)
    request = task.request(script)
    if "test-only" in script.words.given:
        return forecast.dry_run(ctx, request, follow=False)
    made = ctx.client.submit(with_snapshot(ctx, request, None, quiet=True))
    if "quiet" not in script.words.given:
        for warning in made.warnings:
            print(f"sbatch: {warning}", file=sys.stderr)
    print(made.id if "parsable" in script.words.given else f"Submitted batch job {made.id}", flush=True)
    if "wait" not in script.words.given:
        return 0
    return follow_to_end(ctx, made, quiet=True) and (status_of(ctx.client.task(made.id)) or 1)


def srun(argv: Sequence[str], ctx: Context) -> int:
    """Submit a command that runs on all nodes at once, and print its output until it ends."""
    words = read(argv, SRUN)
    if not words.rest:
        raise BadOption("a command is missing; write for example: srun -N 2 python train.py")
    for name in ("nodelist", "exclude", "relative"):
        if name in words.given:
            raise BadOption(f"--{name}: nodes cannot be chosen: leave it out")
    here = folder()
    task = asked(words, name=Path(words.rest[0]).name, cwd=here, env=os.environ)
    _tell("srun", words, task)
    each = words.number("ntasks-per-node")
    ntasks, nodes = words.number("ntasks"), task.fields["nodes"]
    if ntasks and each is None:
        if ntasks % nodes:
            raise BadOption(f"--ntasks={ntasks}: {nodes} nodes do not take as many each; say --ntasks-per-node")
        each = ntasks // nodes
    request = TaskRequest(command=tuple(words.rest), ranks_per_node=each or 1, **task.fields)
    made = ctx.client.submit(with_snapshot(ctx, request, None, quiet=True))
    return follow_to_end(ctx, made) and (status_of(ctx.client.task(made.id)) or 1)


def _tell(name: str, words: Words, task: SlurmRequest) -> None:
    """Name the options that are ignored, because they do not change the job."""
    if "quiet" not in words.given:
        for note in task.notes:
            print(f"{name}: {note}", file=sys.stderr)
