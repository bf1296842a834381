"""`--snapshot` and `--no-snapshot`: whether a task starts in its code as it is now."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Mapping

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import clean
from hai_client.cli.shared.parser import option
from hai_client.errors import Invalid
from hai_client.snapshots.machine import machine_id
from hai_client.wire.schema import SnapshotIn, TaskRequest
from hai_client.wire.storage import SnapshotRules

#: What the Hub and the platform set in the shells of a JupyterLab server and of a task: these see what tasks see.
_INSIDE = ("JUPYTERHUB_USER", "JUPYTERHUB_SERVICE_PREFIX", "HAI_TASK_ID")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add both options; only one of them may be given."""
    either = parser.add_mutually_exclusive_group()
    option(
        either,
        "--snapshot",
        "store the folder as it is now, and start in that over all turns (if tasks do not see this folder)",
        default=None,
        dest="snapshot",
    )
    option(either, "--no-snapshot", "start in the folder as it is at each turn", action="store_false", dest="snapshot")


def with_snapshot(ctx: Context, request: TaskRequest, wanted: bool | None, *, quiet: bool = False) -> TaskRequest:
    """Return the request with a snapshot of its folder, if it is to have one; takes it and says so.

    Args:
        ctx: The command's context.
        request: The request, with an absolute folder.
        wanted: What the options say; None: nothing.
        quiet: Whether to say nothing of a snapshot that is taken.

    Raises:
        Invalid: The folder cannot be taken, or the node group takes no snapshots.
    """
    if wanted is None and request.take_snapshot:
        wanted = True
    request = dataclasses.replace(request, take_snapshot=None)
    if wanted is False:
        return request
    rules = ctx.client.snapshot_rules(request.group)
    if rules.mode == "off":
        if wanted:
            raise Invalid(f"snapshot: the group {request.group!r} takes no snapshots of code; leave --snapshot out")
        return request
    if wanted is None and rules.mode == "offered" and sees_files_of_tasks(rules, os.environ):
        return request
    return _taken(ctx, request, rules, asked=bool(wanted), quiet=quiet or ctx.json)


def sees_files_of_tasks(rules: SnapshotRules, environ: Mapping[str, str]) -> bool:
    """Return whether this process is where tasks are: on the platform's own machine, in a server of the Hub, in a task.

    Args:
        rules: What the service says of the machine that it runs on.
        environ: The environment.
    """
    return any(environ.get(name) for name in _INSIDE) or (rules.machine is not None and rules.machine == machine_id())


def _taken(ctx: Context, request: TaskRequest, rules: SnapshotRules, *, asked: bool, quiet: bool) -> TaskRequest:
    # Imported here: most submissions take no snapshot.
    from hai_client.cli.shared.progress import ProgressLine
    from hai_client.snapshots.taking import Most, take, told

    most = Most(rules.max_files, rules.max_bytes, rules.max_file_bytes)
    try:
        with ProgressLine(ctx.out) as show:
            taken = take(ctx.client, request.cwd, most, progress=show)
    except Invalid as error:
        if asked or rules.mode == "required":
            raise
        raise Invalid(
            f"{error.message}; or submit with --no-snapshot, if tasks see this folder", fields=error.fields
        ) from None
    ctx.out.note(*taken.notes)
    if not quiet:
        ctx.out.line(f"snapshot {taken.digest[:12]}: {clean(told(taken))}")
    snapshot = SnapshotIn(digest=taken.digest, commit=taken.commit, dirty=taken.dirty)
    return dataclasses.replace(request, snapshot=snapshot)
