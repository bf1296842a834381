"""Checks that a task would fit on the empty cluster: its node group, nodes and GPUs of a node (U2, Q5)."""

from __future__ import annotations

from collections.abc import Sequence

from hai_scheduler.core.model.node import Node
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import gang, nodes
from hai_scheduler.service.shared.errors import Invalid, QuotaExceeded, Unavailable
from hai_scheduler.service.shared.known_names import unknown_group


def gpus_to_ask_for(known: Sequence[Node], group: str, count: int, gpus: int | None) -> int | None:
    """The GPUs of each node for a task that asks for `gpus` on each of `count` nodes; None is whole nodes.

    If every node of the group has exactly `gpus` GPUs, the task takes whole nodes.

    Raises:
        Unavailable: No node has been seen yet.
        Invalid: There is no such group, or none of its nodes has that many GPUs.
        QuotaExceeded: The group has fewer than `count` such nodes.
    """
    if not known:
        raise Unavailable("The scheduler has not seen the nodes yet: try again in a few seconds.")
    sizes = [node.gpus for node in known if node.group == group]
    if not sizes:
        raise unknown_group(group, {node.group for node in known})
    if gpus is not None:
        _check_gpus(group, max(sizes), gpus)
    fitting = len(sizes) if gpus is None else sum(size >= gpus for size in sizes)
    if count > fitting:
        asked = gang(ENGLISH, count, gpus)
        has = str(fitting) if gpus is None else f"{nodes(ENGLISH, fitting)} with as many GPUs"
        raise QuotaExceeded(
            f"nodes: {asked} will never be free together, for group {group!r} has {has}: ask for {fitting} or fewer."
        )
    return None if all(size == gpus for size in sizes) else gpus


def _check_gpus(group: str, most: int, gpus: int) -> None:
    if gpus < 1:
        raise Invalid("gpus", gpus, f"{gpus} is too few: ask for at least 1 GPU of each node, or leave it out")
    if most == 0:
        raise Invalid("gpus", gpus, f"the nodes of group {group!r} have no GPUs: leave it out and take whole nodes")
    if gpus > most == 1:
        raise Invalid(
            "gpus", gpus, f"no node of group {group!r} has more than 1 GPU: leave it out, and ask for more nodes"
        )
    if gpus > most:
        raise Invalid(
            "gpus",
            gpus,
            f"{gpus} is more than any node of group {group!r} has: ask for {most} or fewer of each node,"
            " and for more nodes if need be",
        )
