"""`hai admin orphans`: lists and ends orphaned runs, which may be left after the database was restored."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from hai_client.calls.orphans import Orphan
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column, Output
from hai_client.errors import Invalid


def configure_admin(verbs: Any, leaf: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the verbs of `hai admin orphans`; `leaf` makes one."""
    leaf(verbs, "list", "list runs that belong to no task of this database", _list)
    ending = leaf(verbs, "end", "end such runs; what they have not saved is lost", _end)
    ending.add_argument("runs", metavar="RUN", nargs="*", help="id of the run, as `list` shows it: 41.2")
    ending.add_argument("--all", action="store_true", help="end all orphaned runs")


def _list(_args: argparse.Namespace, ctx: Context) -> int:
    found = ctx.client.orphans()
    if ctx.json:
        ctx.out.json({"items": found})
    elif not found:
        ctx.out.line("none: every run belongs to a task")
    else:
        _table(ctx.out, found)
    return 0


def _table(out: Output, found: Sequence[Orphan]) -> None:
    columns = [Column("RUN"), Column("USER"), Column("STATE"), Column("NODES"), Column("ORIGIN")]
    rows: list[list[Cell | str]] = [
        [Cell(one.run, "bold"), one.user or "-", _state(one), " ".join(one.nodes) or "-", one.origin or "-"]
        for one in found
    ]
    out.table(columns, rows)


def _state(one: Orphan) -> str:
    if not one.live:
        return "ended"
    return "ending" if one.ending else "live"


def _end(args: argparse.Namespace, ctx: Context) -> int:
    if bool(args.runs) == args.all:
        raise Invalid("run: name the runs to end, as `hai admin orphans list` shows them, or give --all")
    runs = [one.run for one in ctx.client.orphans()] if args.all else args.runs
    done = [ctx.client.end_orphan(run) for run in runs]
    if ctx.json:
        ctx.out.json({"items": done})
    elif not done:
        ctx.out.line("none: every run belongs to a task")
    else:
        for one in done:
            where = f" on {' '.join(one.nodes)}" if one.nodes else ""
            ctx.out.line(f"run {one.run}{where} is told to end; its nodes are used again when it has")
    return 0
