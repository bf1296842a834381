"""`hai nodes`: the machines and what runs on them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Output, clean, plural
from hai_client.cli.shared.parser import Command, option
from hai_client.wire.schema import Node

_STYLES = {
    "free": "green",
    "shared": "cyan",
    "held": "blue",
    "orphaned": "yellow",
    "down": "red",
    "cordoned": "yellow",
    "draining": "yellow",
    "quarantined": "yellow",
    "closed": "yellow",
    "crowded": "yellow",
}


def _configure(parser: argparse.ArgumentParser) -> None:
    option(parser, "-g, --group GROUP", "only of this node group")


def _nodes(args: argparse.Namespace, ctx: Context) -> None:
    found = [node for node in ctx.client.nodes() if args.group in (None, node.group)]
    if ctx.listed(found, "no node" + (f" in group {args.group}" if args.group else "")):
        return
    table(ctx.out, found)
    states = [node.state for node in found]
    parts = [f"{states.count(state)} {state}" for state in _STYLES if state in states]
    ctx.out.line(f"\n{plural(len(found), 'node')}: {', '.join(parts)}")
    for node in found:
        for told in (node.reason, node.network):
            if told is not None:
                ctx.out.line(clean(f"{node.name}: {told}"))


def table(out: Output, nodes: Sequence[Node]) -> None:
    """Write nodes as a table."""
    out.table(
        "NODE  STATE  GROUP  LEAF  ZONE  >GPUS  >FREE  >TASK  USER",
        [
            [
                Cell(node.name, "bold"),
                Cell(node.state, _STYLES.get(node.state)),
                node.group,
                node.leaf or "-",
                node.zone or "-",
                str(node.gpus),
                str(node.gpus_free),
                " ".join(str(task.task_id) for task in node.tasks) or "-",
                " ".join(dict.fromkeys(task.user for task in node.tasks if task.user)) or "-",
            ]
            for node in nodes
        ],
    )


COMMANDS = {"nodes": Command("nodes", _configure, _nodes, about="List the nodes and what runs on them.")}
