"""`hai admin orphans`: lists and ends orphaned runs, which may be left after the database was restored."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from hai_client.calls.orphans import Orphan
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Output
from hai_client.cli.shared.parser import leaf, option
from hai_client.errors import Invalid


def configure_admin(verbs: Any) -> None:
    """Add the verbs of `hai admin orphans`."""
    leaf(verbs, "list", "list runs that belong to no task of this database", _list)
    ending = leaf(verbs, "end", "end such runs; what they have not saved is lost", _end)
    option(ending, "runs RUN", "id of the run, as `list` shows it: 41.2", nargs="*")
    option(ending, "--all", "end all orphaned runs")


def _list(_args: argparse.Namespace, ctx: Context) -> None:
    found = ctx.client.orphans()
    if not ctx.listed(found, "none: every run belongs to a task"):
        _table(ctx.out, found)


def _table(out: Output, found: Sequence[Orphan]) -> None:
    rows: list[list[Cell | str]] = [
        [Cell(one.run, "bold"), one.user or "-", _state(one), " ".join(one.nodes) or "-", one.origin or "-"]
        for one in found
    ]
    out.table("RUN  USER  STATE  NODES  ORIGIN", rows)


def _state(one: Orphan) -> str:
    if not one.live:
        return "ended"
    return "ending" if one.ending else "live"


def _end(args: argparse.Namespace, ctx: Context) -> None:
    if bool(args.runs) == args.all:
        raise Invalid("run: name the runs to end, as `hai admin orphans list` shows them, or give --all")
    runs = [one.run for one in ctx.client.orphans()] if args.all else args.runs
    done = [ctx.client.end_orphan(run) for run in runs]
    if not ctx.listed(done, "none: every run belongs to a task"):
        for one in done:
            where = f" on {' '.join(one.nodes)}" if one.nodes else ""
            ctx.out.line(f"run {one.run}{where} is told to end; its nodes are used again when it has")
