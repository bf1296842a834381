"""What admins can try before they do it: marks on nodes, and policy numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.service.insight.mark_preview import MarkPreview
from hai_scheduler.service.insight.trial import Trial
from hai_scheduler.service.platform.policy_changes import PolicyChanges
from hai_scheduler.service.shared.caller import Caller, admins_only
from hai_scheduler.service.shared.errors import Invalid, NotFound, TooCostly, Unavailable
from hai_scheduler.service.shared.orders import Bounds, ComputePool, PreviewOrder, SnapshotFacts, Told, TrialOrder
from hai_scheduler.service.shared.world import UseCase

#: The days of a trial by default and at most: the ledger and the tasks are read day by day.
DAYS: Final = 3
MOST_DAYS: Final = 14
#: The most tasks of a trial, and the most processor time of each of its two simulations, in seconds.
MOST_TASKS: Final = 20_000
MOST_SECONDS: Final = 90.0


@dataclass(slots=True, eq=False)
class Previews(UseCase):
    """The use cases. Workers compute the answers; admins take turns."""

    policy: PolicyChanges
    workers: ComputePool
    bounds: Bounds = field(default_factory=Bounds)

    async def mark(self, caller: Caller, nodes: Sequence[str], mark: NodeMark) -> MarkPreview:
        """What a mark on these nodes would do. Raises Forbidden, NotFound, TooMany and Unavailable.

        Args:
            caller: An admin.
            nodes: The names of the nodes.
            mark: `CORDONED` or `DRAINING`.
        """
        admins_only(caller)
        await self.latest_plan.asked()
        known = self.latest_plan.by_name()
        for name in nodes:
            if name not in known:
                raise NotFound(f"There is no node {name!r}: `hai nodes` lists them.")
        order = PreviewOrder(nodes=tuple(dict.fromkeys(nodes)), mark=mark, now=self.clock.now(), bounds=self.bounds)
        found = await self.workers.do(caller.name, order, self._facts())
        assert isinstance(found, MarkPreview)
        return found

    async def numbers(
        self,
        caller: Caller,
        group: str | None,
        values: Mapping[str, object],
        unset: Collection[str],
        *,
        days: int = DAYS,
        told: Told | None = None,
    ) -> Trial:
        """The tasks of the last days with the numbers in force, and as a change of them would leave the numbers.

        Nothing is changed. A request that is cancelled ends the computation.

        Args:
            caller: An admin.
            group: As for a change of policy numbers.
            values: The same.
            unset: The same.
            days: How many days back, from a midnight in UTC on.
            told: Called with the progress, 0 to 1.

        Raises:
            Forbidden: The caller is not an admin.
            Invalid: A number or `days` is wrong.
            TooCostly: There are too many tasks to try.
            TooMany: The caller has too many trials waiting.
            Unavailable: The nodes are not known yet, or nothing can be computed now.
        """
        admins_only(caller)
        if not 1 <= days <= MOST_DAYS:
            raise Invalid("days", days, f"give 1 to {MOST_DAYS} days; {DAYS} is the default")
        await self.latest_plan.asked()
        policies = await self.policy.tried(caller, group, values, unset)
        now = self.clock.now()
        order = TrialOrder(
            policies=policies,
            since=begin_of(Period.DAY, now) - timedelta(days=days),
            now=now,
            most_tasks=MOST_TASKS,
            most_seconds=MOST_SECONDS,
        )
        found = await self.workers.do(caller.name, order, self._facts(), told)
        assert isinstance(found, Trial)
        if found.fault is not None:
            raise TooCostly(found.fault)
        return found

    def _facts(self) -> SnapshotFacts:
        snapshot = self.latest_plan.snapshot
        if snapshot is None:
            raise Unavailable("The scheduler has not looked at the cluster yet: try again in a few seconds.")
        return SnapshotFacts(nodes=snapshot.nodes, policies=self.latest_plan.policies)
