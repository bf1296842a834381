"""A node as a row of `sinfo`, and as a line of `scontrol`."""

from __future__ import annotations

from collections.abc import Iterable

from hai_client.wire.schema import Node

#: Slurm's names, long and short, for the states of a node.
_STATES = {
    "free": ("idle", "idle"),
    "held": ("allocated", "alloc"),
    "shared": ("mixed", "mix"),
    "orphaned": ("allocated", "alloc"),
    "draining": ("draining", "drng"),
    "cordoned": ("drained", "drain"),
    "quarantined": ("drained", "drain"),
    "closed": ("drained", "drain"),
    "down": ("down", "down"),
}
#: The node group of tasks that name none.
_USUAL = "training"


def node_rows(nodes: Iterable[Node]) -> list[dict[str, str]]:
    """Return a row for each node."""
    return [_row(node) for node in nodes]


def _row(node: Node) -> dict[str, str]:
    long, short = _STATES.get(node.state, ("unknown", "unk"))
    if long in ("drained", "draining"):
        # Nothing runs there: it is drained; else it is being drained.
        long, short = ("draining", "drng") if node.tasks else ("drained", "drain")
    return {
        "NODELIST": node.name,
        "HOSTNAMES": node.name,
        "NODE_ADDR": node.name,
        "PARTITION": node.group + ("*" if node.group == _USUAL else ""),
        "PARTITION_NAME": node.group,
        "AVAIL": "up",
        "TIMELIMIT": "infinite",
        "DEFAULTTIME": "n/a",
        "STATE": short,
        "STATE_LONG": long,
        "GRES": f"gpu:{node.gpus}" if node.gpus else "(null)",
        "GRES_USED": f"gpu:{node.gpus - node.gpus_free}" if node.gpus else "(null)",
        "REASON": node.reason or "none",
        "USER": node.by or "Unknown",
    }


def node_line(node: Node) -> str:
    """Return the facts of a node as `scontrol show node -o` prints them."""
    row = _row(node)
    return (
        f"NodeName={node.name} NodeAddr={node.name} NodeHostName={node.name} Gres=gpu:{node.gpus} "
        f"State={row['STATE_LONG'].upper()} Partitions={node.group}"
    )


def partition_lines(nodes: Iterable[Node]) -> list[str]:
    """Return the facts of each node group as `scontrol show partition -o` prints them."""
    groups: dict[str, list[str]] = {}
    for node in nodes:
        groups.setdefault(node.group, []).append(node.name)
    return [
        f"PartitionName={name} Default={'YES' if name == _USUAL else 'NO'} MaxTime=UNLIMITED State=UP "
        f"TotalNodes={len(members)} Nodes={','.join(members)}"
        for name, members in groups.items()
    ]
