"""What is simulated: jobs and how they behave, the cluster, the rules."""

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
    """How a job comes to know that it has to leave (docs/scheduling.md, the profile `auto`)."""

    #: It catches the signal.
    CATCHES = "catches"
    #: It looks for the notice.
    POLLS = "polls"
    #: Not at all: it is let go on until it has saved by itself, or patience is over, and is ended then.
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A task and how it behaves.

    The task is as it was submitted or, when the engine begins in the middle, as it is then.
    """

    task: Task
    #: How much longer it runs, over all its turns, from where the task is now; None is for ever.
    work: timedelta | None
    #: How it comes to know of a notice.
    manner: Manner = Manner.CATCHES
    #: From a notice until it has saved and left; None: it ignores the notice and is ended at the deadline.
    saves_in: timedelta | None = _NOW
    #: How often it saves on its own while it works; None is never.
    saves_every: timedelta | None = None
    #: Its command fails once, after so much work (H2); None is never.
    fails_after: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The cluster, the rules and the costs of a simulation."""

    nodes: tuple[Node, ...]
    policies: Policy | Policies = field(default_factory=Policy)
    discipline: Discipline = Discipline.HAI
    #: Rows of quota; None gives everybody unlimited quota at every level.
    quotas: tuple[Quota, ...] | None = None
    #: The user groups of each user.
    groups_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: From the order to start a task for the first time until its ranks are up.
    start_takes: timedelta = _NOW
    #: What a start after the first takes besides: it is spent before the ranks are up, so that P6 measures it.
    restart_cost: timedelta = _NOW
    #: Plans are made at multiples of this after the begin; the platform itself plans at least once a second.
    tick: timedelta = timedelta(seconds=1)
    #: Which nodes fail and when; None is never.
    failures: FailureModel | None = None
    paused: bool = False
    pause_grace: timedelta | None = None
    #: Check every snapshot for contradictions before it is planned.
    check: bool = False
    #: Seconds that pass in reality, to measure how long plans take.
    timer: Callable[[], float] = time.perf_counter

    def rows_of_quota(self) -> tuple[Quota, ...]:
        """The rows of quota that count."""
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
    """So many equal nodes.

    Args:
        count: How many.
        gpus: GPUs of each.
        leaf_size: Nodes of one leaf switch; 0 is one leaf for all.
        zone_size: Nodes of one zone; 0 is one zone for all.
        group: Their node group.
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
