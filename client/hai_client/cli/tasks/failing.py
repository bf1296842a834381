"""Shows why a task has failed: the rank that failed first, and its last lines."""

from __future__ import annotations

import signal

from hai_client.cli.language.catalogue import label, say
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output, clean
from hai_client.wire.schema import Failure, Task


def sentence(failure: Failure) -> str:
    """Return a sentence such as `rank 1 on node-2 failed first, with status 127`."""
    if failure.signal is not None:
        how = say(", of %1", _signal(failure.signal))
    else:
        how = "" if failure.exit_code is None else say(", with status %1", failure.exit_code)
    worker = say("; torchrun names %1", failure.worker) if failure.worker else ""
    return clean(label("Rank %1 on %2 failed first", failure.rank, failure.node) + how + worker)


def write(out: Output, task: Task, failure: Failure, *, before: str = "") -> None:
    """Write which rank failed first, and its last lines.

    Args:
        out: The output to write to.
        task: The task that has failed.
        failure: The failure.
        before: A text before the sentence.
    """
    whole = say("`%1` shows all", f"hai logs -r {failure.rank} {clean(task.name)}")
    about = say("its last lines (%1):", whole) if failure.lines else say("there is no line of it (%1)", whole)
    out.line(out.style(f"{before}{sentence(failure)}; {about}", "dim" if before else None))
    for line in failure.lines:
        out.printed(line, before="" if before else "  ")


def after_log(ctx: Context, task: Task, *, rank: int | None = None, run: int | None = None) -> None:
    """Write the failure after the log of rank 0, unless that log has just shown it.

    Args:
        ctx: The command's context, with its output.
        task: The task as it is now.
        rank: The rank that the user asked for; None: no rank was asked for.
        run: The run that the user asked for; None: all runs.
    """
    failure = task.failure
    if ctx.json or rank is not None or failure is None or failure.run != (task.run_count if run is None else run):
        return
    if failure.rank != 0 or failure.worker is not None:
        write(ctx.out, task, failure, before="[hai] ")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return say("signal %1", number)
