"""What the time of nodes was spent on, as a partition: every second of every node is in exactly one state.

`useful`: a run computes there. `overhead`: its ranks are being started, or it has been told to leave. `idle`: the node
may be used, and nobody uses it. `down`: nothing may be started there. `lost`: what had looked useful, and was computed
after the last checkpoint of a run that was interrupted. That is known only when the run has ended, and what is counted
cannot be taken back; so lost time is a debt of the node group, and the next useful seconds are counted as lost until
the debt is paid. So no second is counted twice, and none is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.tallies.families import NODE_SECONDS
from hai_scheduler.core.tallies.moments import Nodes
from hai_scheduler.core.tallies.tallies import Tallies

USEFUL: Final = "useful"
OVERHEAD: Final = "overhead"
LOST: Final = "lost"
IDLE: Final = "idle"
DOWN: Final = "down"

#: Nodes by label of their group and state; parts of nodes are possible.
Shares = Mapping[tuple[str, str], float]


def shares_of(nodes: Iterable[Node], live: Iterable[Task], label: Callable[[str], str]) -> Shares:
    """Return how many nodes of each group are in each state.

    Args:
        nodes: All nodes, each once.
        live: The tasks with a live run.
        label: Gives the label of a node group.
    """
    there = {node.name: node for node in nodes}
    gpus = Nodes({name: node.gpus for name, node in there.items()})
    held: dict[str, list[float]] = {}
    for task in live:
        run = task.live_run
        if run is None:
            continue
        works = run.running_at is not None and run.notice is None and run.killed_at is None
        for rank in run.ranks:
            parts = held.get(rank.node)
            if parts is None:
                parts = held[rank.node] = [0.0, 0.0]
            parts[0 if works else 1] += gpus.share(rank) if rank.gpus else 1.0
    shares: dict[tuple[str, str], float] = {}
    labels = {group: label(group) for group in {node.group for node in there.values()}}
    for group in labels.values():
        shares |= dict.fromkeys([(group, state) for state in (USEFUL, OVERHEAD, IDLE, DOWN)], 0.0)
    for name, node in there.items():
        group = labels[node.group]
        if not node.ready:
            shares[group, DOWN] += 1.0
            continue
        useful, overhead = held.get(name, (0.0, 0.0))
        all_held = useful + overhead
        scale = 1.0 / all_held if all_held > 1.0 else 1.0
        shares[group, USEFUL] += useful * scale
        shares[group, OVERHEAD] += overhead * scale
        shares[group, IDLE if node.schedulable else DOWN] += max(0.0, 1.0 - all_held)
    return shares


def spend(tallies: Tallies, shares: Shares, seconds: float, debts: dict[str, float]) -> None:
    """Count a length of time in which nodes were in these states, and pay the debts of lost time from useful time."""
    for (group, state), nodes in shares.items():
        spent = nodes * seconds
        if state == USEFUL:
            paid = min(spent, debts.get(group, 0.0))
            if paid:
                debts[group] -= paid
            # Also 0: a state that is not there cannot be graphed.
            tallies.add(NODE_SECONDS, (group, LOST), paid)
            spent -= paid
        tallies.add(NODE_SECONDS, (group, state), spent)
