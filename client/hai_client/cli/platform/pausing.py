"""`hai admin pause` and `resume`: who would have to leave is said first."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, plural
from hai_client.cli.shared.parser import leaf, option
from hai_client.errors import Invalid
from hai_client.wire.schema import TaskSummary

#: The states of tasks that hold nodes.
_HOLD_NODES = "starting,running,suspending"


def configure_admin(verbs: Any) -> None:
    """Add the verbs of `hai admin`."""
    pausing = leaf(verbs, "pause", "tell every run to leave; start nothing until `hai admin resume`", _pause)
    option(pausing, "--preview", "say who would leave; do nothing")
    option(pausing, "-y, --yes", "at a terminal too, do not ask")
    leaf(verbs, "resume", "end a pause", _resume)


def _pause(args: argparse.Namespace, ctx: Context) -> None:
    if args.preview or (not args.yes and sys.stdin.isatty()):
        found = tuple(ctx.client.tasks(user="*", state=_HOLD_NODES))
        if args.preview and ctx.json:
            ctx.out.json({"items": found})
            return
        _show(ctx, found)
        if args.preview:
            ctx.out.line("Nothing was done: leave --preview out to do it.")
            return
        if found and not _agreed(ctx):
            raise Invalid("pause: not confirmed, and nothing was done; `--yes` does not ask")
    cluster = ctx.client.pause()
    ctx.answer(cluster, "paused: every run is told to leave, and nothing starts until `hai admin resume`")


def _show(ctx: Context, tasks: Sequence[TaskSummary]) -> None:
    if not tasks:
        ctx.out.line("No task runs, so none would be told to leave; none would start until `hai admin resume`.")
        return
    users = plural(len({task.user for task in tasks}), "user")
    ctx.out.line(f"{plural(len(tasks), 'task')} of {users} would be told to save and leave:")
    ctx.out.table(
        ">TASK  NAME  USER  >NODES",
        [[str(one.id), Cell(one.name, "bold"), one.user, str(one.nodes)] for one in tasks],
    )
    ctx.out.line("They go on, and others start, after `hai admin resume`.")


def _agreed(ctx: Context) -> bool:
    ctx.out.stderr.write("pause now? [y/N] ")
    ctx.out.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _resume(_args: argparse.Namespace, ctx: Context) -> None:
    cluster = ctx.client.unpause()
    ctx.answer(cluster, "not paused: tasks start as their turns come")
