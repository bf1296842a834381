"""Distributes the tasks of a step over nodes: in blocks of nearly equal size (Slurm's default)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class BadLayout(ValueError):
    """The tasks do not fit on the nodes; the message says why, and what to change."""


class Layout:
    """The tasks of a step, by node.

    Args:
        nodes: The ranks of the run that take part, in order; the first one is node 0 of the step.
        counts: Number of tasks of each node, at least 1.
    """

    __slots__ = ("counts", "nodes")

    def __init__(self, nodes: Sequence[int], counts: Sequence[int]) -> None:
        if len(nodes) != len(counts) or not counts or min(counts) < 1:
            raise BadLayout(f"nodes {list(nodes)} and tasks {list(counts)} do not belong together")
        self.nodes = tuple(nodes)
        self.counts = tuple(counts)

    @property
    def total(self) -> int:
        """The number of all tasks."""
        return sum(self.counts)

    def first(self, index: int) -> int:
        """The number (SLURM_PROCID) of the first task on a node of the step."""
        return sum(self.counts[:index])


def lay_out(
    nodes: Sequence[int], *, ntasks: int | None, per_node: int | None, most_nodes: int | None, default_per_node: int
) -> Layout:
    """Return the layout for options of `srun`. Raises BadLayout.

    Args:
        nodes: The ranks of the run that may be used, in order.
        ntasks: `--ntasks`; None: as many on each node as `per_node`, else `default_per_node`.
        per_node: `--ntasks-per-node`.
        most_nodes: `--nodes`; None: all of them, or as many as there are tasks.
        default_per_node: The job's number of tasks on each node.
    """
    if most_nodes is not None and not 1 <= most_nodes <= len(nodes):
        raise BadLayout(f"--nodes={most_nodes}: this job may use {len(nodes)} here; ask for 1 to {len(nodes)}")
    used = list(nodes[: most_nodes or len(nodes)])
    each = per_node or default_per_node
    if ntasks is None:
        return Layout(used, [each] * len(used))
    if ntasks < 1:
        raise BadLayout(f"--ntasks={ntasks}: ask for at least 1")
    if most_nodes is None:
        used = used[:ntasks]
    elif ntasks < len(used):
        # Slurm does the same, with a warning.
        used = used[:ntasks]
    if per_node is not None:
        if ntasks > per_node * len(used):
            raise BadLayout(
                f"--ntasks={ntasks} with --ntasks-per-node={per_node}: {len(used)} nodes take {per_node * len(used)}"
            )
        full, rest = divmod(ntasks, per_node)
        counts = [per_node] * full + ([rest] if rest else [])
        return Layout(used[: len(counts)], counts)
    low, more = divmod(ntasks, len(used))
    return Layout(used, [low + (index < more) for index in range(len(used))])
