"""`hai snapshot`: the code that a task runs with, shown or fetched."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import clean
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.tasks import view
from hai_client.errors import Invalid, NotFound
from hai_client.snapshots.manifest import LINK, PROGRAM


def _configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", metavar="VERB", required=True)
    made = verbs.add_parser("take", help="store a folder as it is now, and submit nothing")
    option(made, "-g, --group GROUP", "node group of the task (training)", default="training")
    option(made, "folder FOLDER", "folder to store (this one)", nargs="?", default=".")
    show = verbs.add_parser("show", help="list the files of a task's snapshot")
    option(show, "task TASK", "the id or name of the task")
    fetch = verbs.add_parser("pull", help="write a task's snapshot into a new folder")
    option(fetch, "task TASK", "the id or name of the task")
    option(fetch, "folder FOLDER", "folder to write to, new or empty")


def _run(args: argparse.Namespace, ctx: Context) -> None:
    {"take": _take, "show": _show, "pull": _pull}[args.what](args, ctx)


def _take(args: argparse.Namespace, ctx: Context) -> None:
    from hai_client.snapshots.taking import Most, take, told

    rules = ctx.client.snapshot_rules(args.group)
    if rules.mode == "off":
        raise Invalid(f"group: {args.group!r} takes no snapshots of code")
    folder = os.path.normpath(Path.cwd() / Path(args.folder).expanduser())
    taken = take(ctx.client, folder, Most(rules.max_files, rules.max_bytes, rules.max_file_bytes))
    said = f"snapshot {taken.digest[:12]}: {told(taken)}"
    if ctx.json:
        about = {"digest": taken.digest, "commit": taken.commit, "dirty": taken.dirty}
        ctx.out.json({**about, "files": taken.files, "size": taken.size, "told": said, "notes": list(taken.notes)})
        return
    ctx.out.note(*taken.notes)
    ctx.out.line(clean(said))


def _show(args: argparse.Namespace, ctx: Context) -> None:
    from hai_client.snapshots.pulling import manifest_of

    task = ctx.client.task(args.task)
    if task.snapshot is None:
        raise NotFound(f"snapshot: task {task.id} has none; it was submitted without --snapshot")
    found = manifest_of(ctx.client, str(task.id))
    if ctx.json:
        files = [dict(zip(("path", "kind", "size", "content"), entry)) for entry in found.entries]
        ctx.out.json({"snapshot": task.snapshot, "cwd": task.cwd, "files": files})
        return
    ctx.out.line(f"{clean(view.snapshot(task.snapshot))}, of {clean(task.cwd)}")
    for entry in found.entries:
        mark = " -> " + clean(entry.what) if entry.kind == LINK else "*" if entry.kind == PROGRAM else ""
        ctx.out.line(f"{entry.size:>12}  {clean(entry.path)}{mark}")


def _pull(args: argparse.Namespace, ctx: Context) -> None:
    from hai_client.snapshots.pulling import pull

    folder = Path(os.path.normpath(Path.cwd() / Path(args.folder).expanduser()))
    found = pull(ctx.client, str(ctx.client.task(args.task).id), folder)
    ctx.answer(
        {"folder": str(folder), "digest": found.digest, "files": len(found.entries)},
        f"{len(found.entries)} files of snapshot {found.digest[:12]} are in {folder}",
    )


COMMANDS = {
    "snapshot": Command(
        "snapshot",
        _configure,
        _run,
        about="The code that a task was submitted with (`hai submit --snapshot`), and that all its turns run.",
        examples="examples:\n  hai snapshot show digits\n  hai snapshot pull digits ~/what-it-ran",
    )
}
