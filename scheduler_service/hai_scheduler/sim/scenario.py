"""The input of a simulation: jobs and how they behave, the cluster, the rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.sim.failures import FailureModel

_NOW = timedelta(0)


class Manner(StrEnum):
    """How a job learns that it has to leave (docs/scheduling.md, the profile `auto`)."""

    #: The job catches the signal.
    CATCHES = "catches"
    #: The job polls for the notice.
    POLLS = "polls"
    #: The job does not learn it: it goes on until it has saved by itself or its patience is over, and is then ended.
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedJob:
    """A task, and how its command behaves.

    The task is in the state in which the simulation begins: just submitted, or waiting or running already.
    """

    task: Task
    #: How much longer the task runs, over all turns, from its present state on; None: it never ends.
    work: timedelta | None
    #: How the job learns of a notice.
    manner: Manner = Manner.CATCHES
    #: Time from a notice until the job has saved and left; None: it ignores the notice, and is ended at the deadline.
    saves_in: timedelta | None = _NOW
    #: Time between saves of the job's own while it works; None: it never saves by itself.
    saves_every: timedelta | None = None
    #: The work after which the command fails, once (H2); None: it never fails.
    fails_after: timedelta | None = None
    #: The last share of its work, 0 to 1, in which its GPUs are idle (I1).
    idle_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The cluster, the rules and the costs of a simulation."""

    nodes: tuple[Node, ...]
    policies: Policy | Policies = field(default_factory=Policy)
    discipline: Discipline = Discipline.HAI
    #: Rows of quota; None: all users have unlimited quota at every priority.
    quotas: tuple[Quota, ...] | None = None
    #: The user groups of each user.
    groups_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Users whose waiting tasks count as LOW (Q7).
    counted_low: frozenset[str] = frozenset()
    #: Time from the order to start a task for the first time until its ranks are up.
    start_takes: timedelta = _NOW
    #: Additional time of each later start; it passes before the ranks are up, so that P6 measures it.
    restart_cost: timedelta = _NOW
    #: Time between plans, which are made at its multiples after the begin; the service plans at least once a second.
    tick: timedelta = timedelta(seconds=1)
    #: The model by which nodes fail; None: they never fail.
    failures: FailureModel | None = None
    paused: bool = False
    pause_grace: timedelta | None = None
    #: Whether every snapshot, and the counts of tasks, are checked for contradictions before a plan is made.
    check: bool = False
    #: A clock of real time in seconds, to measure how long plans take.
    timer: Callable[[], float] = time.perf_counter

    def rows_of_quota(self) -> tuple[Quota, ...]:
        """Return the rows of quota, or rows without limits if there are none."""
        if self.quotas is not None:
            return self.quotas
        return tuple(
            Quota(subject="public", group=group, priority=level, limit=None)
            for group in sorted({node.group for node in self.nodes})
            for level in Priority
        )


def cluster_of(
    count: int, *, gpus: int = 8, leaf_size: int = 20, zone_size: int = 0, group: str = "training"
) -> tuple[Node, ...]:
    """Return a cluster of `count` equal nodes.

    Args:
        count: How many nodes.
        gpus: GPUs of each node.
        leaf_size: Nodes of one leaf switch; 0 is one leaf for all nodes.
        zone_size: Nodes of one zone; 0 is one zone for all nodes.
        group: The node group.
    """
    width = len(str(count))
    return tuple(
        Node(
            name=f"n{number + 1:0{width}d}",
            group=group,
            leaf=f"leaf-{number // leaf_size + 1 if leaf_size else 1}",
            zone=f"zone-{number // zone_size + 1 if zone_size else 1}",
            gpus=gpus,
        )
        for number in range(count)
    )
