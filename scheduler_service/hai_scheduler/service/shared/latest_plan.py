"""The view of the latest tick: nodes, verdicts, and when. Explanations come from the scheduler's own plan.

In a process of the API it is the view of the latest look of that process (scheduling/follower.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final, Protocol

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.verdicts import Verdict
from hai_scheduler.core.nodes.node_group import largest
from hai_scheduler.ports.errors import Temporary

#: How many of the latest ticks the loop knows the lengths of.
RECENT_TICKS: Final = 500


class Asked(Protocol):
    """Waits a short time until the view is as new as its reader needs (following.py)."""

    async def __call__(self, bearable: float | None = None) -> None:
        """Wait for a view that is at most `bearable` seconds old; None: a few seconds, for the current state."""


async def _fresh_enough(bearable: float | None = None) -> None:
    """Do nothing: the writer renews this view by itself."""


@dataclass(slots=True)
class LatestPlan:
    """The view of the latest tick or look. One loop writes it at a time; there are many readers."""

    asked: Asked = _fresh_enough
    #: Whether this process leads, as far as it knows; and whether that is certain now.
    leading: bool = False
    sure: Callable[[], bool] = lambda: True
    #: The nodes with their marks, sorted by name.
    nodes: Sequence[Node] = ()
    #: The verdict of every task that waits after the tick.
    verdicts: Mapping[TaskId, Verdict] = field(default_factory=dict)
    #: The snapshot that was planned from, with the tick's decisions in it; None before the first tick.
    snapshot: Snapshot | None = None
    #: The policies of that plan.
    policies: Policies = field(default_factory=Policies)
    last_tick: datetime | None = None
    #: Seconds that the last tick, and the plan in it, took.
    tick_seconds: float = 0.0
    plan_seconds: float = 0.0
    ticks: int = 0
    #: Seconds that the latest ticks took.
    recent_ticks: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_TICKS))
    #: Why the last tick or one of its effects failed; None: nothing failed.
    trouble: str | None = None
    #: Whether the cluster could not be read; nothing is decided until it can be.
    blind: bool = False
    #: Why policy numbers of admins are not used; None: they are.
    policy_trouble: str | None = None
    #: How often P7's alarm was raised since the service started.
    rotation_alarms: int = 0
    #: The GPUs of the largest node of each group, and the nodes of which that was found.
    _largest: tuple[Sequence[Node], Mapping[str, int]] = ((), MappingProxyType({}))

    @property
    def leads(self) -> bool:
        """True if this replica surely leads: no other replica can have taken the lease yet."""
        return self.leading and self.sure()

    @contextmanager
    def seeing(self) -> Iterator[None]:
        """Note in `blind` whether the reads of the cluster in this context fail with Temporary."""
        try:
            yield
        except Temporary:
            self.blind = True
            raise
        self.blind = False

    def show(
        self, snapshot: Snapshot, policies: Policies, verdicts: Mapping[TaskId, Verdict], *, seconds: float
    ) -> None:
        """Take over the result of a tick or a look, which took `seconds` seconds."""
        self.snapshot, self.policies, self.verdicts = snapshot, policies, verdicts
        self.nodes = sorted(snapshot.nodes, key=lambda node: node.name)
        self.last_tick = snapshot.now
        self.tick_seconds = seconds
        self.ticks += 1
        self.recent_ticks.append(seconds)

    def groups(self) -> dict[str, int]:
        """The number of nodes of each node group."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            counts[node.group] = counts.get(node.group, 0) + 1
        return counts

    def gpus_per_node(self, group: str) -> int:
        """The number of GPUs of the group's largest node; 0 for an unknown group."""
        if self._largest[0] is not self.nodes:
            self._largest = self.nodes, largest(self.nodes)
        return self._largest[1].get(group, 0)

    def by_name(self) -> dict[str, Node]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}
