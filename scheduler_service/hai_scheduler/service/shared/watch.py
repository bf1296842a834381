"""What the last tick saw: nodes, verdicts, how long ago. Explanations come from the scheduler's own plan.

In a process of the API it is what this one saw when it last looked (scheduling/following.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.verdicts import Verdict
from hai_scheduler.ports.errors import Temporary


class Asked(Protocol):
    """Waits until the view is not older than its reader bears, for a moment at the longest (following.py)."""

    async def __call__(self, bearable: float | None = None) -> None:
        """`bearable` is in seconds; None: a few, for those who want to know how it is now."""


async def _fresh_enough(bearable: float | None = None) -> None:
    """For a view that its writer renews without being asked."""


@dataclass(slots=True)
class Watch:
    """The view of the latest tick or look. One writer at a time, the loop of ticks or of looks; many readers."""

    asked: Asked = _fresh_enough
    #: Whether this process leads, as far as it knows; and whether it can be sure of that now.
    leading: bool = False
    sure: Callable[[], bool] = lambda: True
    #: With their marks, by name.
    nodes: Sequence[Node] = ()
    #: Of every task that waits after the tick.
    verdicts: Mapping[TaskId, Verdict] = field(default_factory=dict)
    #: What the tick was planned from, with what it decided; None before the first.
    snapshot: Snapshot | None = None
    #: The numbers that it was planned with.
    policies: Policies = field(default_factory=Policies)
    last_tick: datetime | None = None
    #: Seconds that the last tick, and the plan in it, took.
    tick_seconds: float = 0.0
    plan_seconds: float = 0.0
    ticks: int = 0
    #: Why the last tick, or what it wanted done, did not go through, if it did not.
    trouble: str | None = None
    #: Whether the cluster could not be seen then: nothing is decided until it can.
    blind: bool = False
    #: Why policy numbers that admins have set are not used, if they are not.
    policy_trouble: str | None = None
    #: How often P7's alarm was raised since the service started.
    rotation_alarms: int = 0

    @property
    def leads(self) -> bool:
        """Whether this replica leads for certain: no other can have taken the lease yet."""
        return self.leading and self.sure()

    @contextmanager
    def seeing(self) -> Iterator[None]:
        """Around looks at the cluster: notes whether it can be seen."""
        try:
            yield
        except Temporary:
            self.blind = True
            raise
        self.blind = False

    def show(
        self, snapshot: Snapshot, policies: Policies, verdicts: Mapping[TaskId, Verdict], *, seconds: float
    ) -> None:
        """Take over what a tick or a look has seen and found; `seconds` is how long it took."""
        self.snapshot, self.policies, self.verdicts = snapshot, policies, verdicts
        self.nodes = sorted(snapshot.nodes, key=lambda node: node.name)
        self.last_tick = snapshot.now
        self.tick_seconds = seconds
        self.ticks += 1

    def groups(self) -> dict[str, int]:
        """How many nodes each group has."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            counts[node.group] = counts.get(node.group, 0) + 1
        return counts

    def gpus_per_node(self, group: str) -> int:
        """How many GPUs the group's largest node has; 0 for an unknown group."""
        return max((node.gpus for node in self.nodes if node.group == group), default=0)

    def by_name(self) -> dict[str, Node]:
        """Nodes by name."""
        return {node.name: node for node in self.nodes}
