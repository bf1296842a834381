"""`hai admin drain NODE --preview`: what a mark on nodes would do."""

from __future__ import annotations

import argparse
from datetime import datetime

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Output, local, plural
from hai_client.wire.schema import DisplacedTask, MarkPreview, PreviewTask

_MARKS = {"drain": "draining", "cordon": "cordoned"}


def run(args: argparse.Namespace, ctx: Context) -> int:
    """Show what the mark of `args.verb` on `args.nodes` would do. Returns the exit status."""
    found = ctx.client.preview_mark(args.nodes, _MARKS[args.verb])
    if not ctx.answered(found):
        show(ctx.out, found)
    return 0


def show(out: Output, preview: MarkPreview) -> None:
    """Write a preview: its sentence, then its lists."""
    out.line(preview.sentence)
    tasks = ">TASK  NAME  USER  >NODES"
    if preview.displaced:
        out.line("")
        rows = [[*_task(one), local(one.away_by) if one.away_by else "-", _goes_on(one)] for one in preview.displaced]
        out.table(f"{tasks}  AWAY BY  GOES ON", rows)
    if preview.moved:
        out.line("\nThey make room:")
        out.table(
            f"{tasks}  AT  >FOR TASK",
            [[*_task(one), local(one.at), str(one.beneficiary)] for one in preview.moved],
        )
    if preview.staying:
        out.line("\nThey go on until their runs end:")
        out.table(tasks, [_task(one) for one in preview.staying])
    if preview.later:
        out.line("\nThey start later:")
        out.table(
            f"{tasks}  WITHOUT  WITH IT",
            [[*_task(one), local(one.without), _or_later(one.with_mark, preview)] for one in preview.later],
        )
    if preview.later_left_out:
        out.line(f"and {plural(preview.later_left_out, 'more task')}")
    if preview.empty_by is not None:
        out.line(f"\nThe last of them is away by {local(preview.empty_by)}.")
    out.line("Nothing was done: leave --preview out to do it.")
    for assumption in preview.assumptions:
        out.line(f"- {assumption.sentence}")


def _task(task: PreviewTask) -> list[Cell | str]:
    return [str(task.task_id), Cell(task.name, "bold"), task.user, str(task.nodes)]


def _goes_on(task: DisplacedTask) -> str:
    if task.goes_on_at is None:
        return "ends first" if task.ends else "not foreseen"
    where = f" on {' '.join(task.goes_on_nodes)}" if task.goes_on_nodes else ""
    return local(task.goes_on_at) + where


def _or_later(when: datetime | None, preview: MarkPreview) -> str:
    return f"after {local(preview.computed_until)}" if when is None else local(when)
