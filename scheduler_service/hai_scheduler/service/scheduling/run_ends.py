"""The facts that remain when a run ends: decayed use of its user (O3), strikes against nodes (H3), the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from hai_scheduler.core.lifecycle.events import Event, StartFailed
from hai_scheduler.core.model.node import Strike
from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState, Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.usage import with_run
from hai_scheduler.service.shared.booking import Booking, book, keep_gpus
from hai_scheduler.store.transaction import Tx


@dataclass(slots=True, kw_only=True)
class RunEnds:
    """Uses and strikes during one transaction: read once, and written when runs end."""

    tx: Tx
    policies: Policies
    #: GPUs of the largest node of each group, as last seen.
    gpus: Mapping[str, int]
    uses: dict[tuple[str, str], Usage] = field(default_factory=dict)
    strikes: list[Strike] = field(default_factory=list)
    #: Runs that have begun or ended, which `settle` writes into the ledger.
    bookings: list[Booking] = field(default_factory=list)

    @classmethod
    async def read(cls, tx: Tx, policies: Policies, gpus: Mapping[str, int], now: datetime) -> Self:
        """Read the stored uses and strikes. Strikes that are too old for every policy are deleted."""
        uses = {(use.user, use.group): use for use in await tx.uses.all()}
        strikes = list(await tx.nodes.strikes())
        longest = max(policy.strike_window for policy in (policies.default, *policies.groups.values()))
        if any(strike.at < now - longest for strike in strikes):
            await tx.nodes.forget_strikes(before=now - longest)
            strikes = [strike for strike in strikes if strike.at >= now - longest]
        return cls(tx=tx, policies=policies, gpus=gpus, uses=uses, strikes=strikes)

    async def note(self, before: Task, after: Task, events: Iterable[Event]) -> None:
        """Write use and strikes if the events have ended the task's run."""
        run = after.run
        if before.live_run is None or run is None or run.ended_at is None:
            return
        use = with_run(
            self.uses.get((after.user, after.group)),
            after,
            run,
            gpus_per_node=self.gpus.get(after.group, 0),
            half_life=self.policies.of(after.group).half_life,
        )
        self.uses[use.user, use.group] = use
        await self.tx.uses.put(use)
        for node in sorted(_failing(run, events)):
            strike = Strike(node=node, task_id=after.id, at=run.ended_at, user=after.user)
            self.strikes.append(strike)
            await self.tx.nodes.add_strike(strike)

    async def settle(self, now: datetime) -> None:
        """Write all runs that this transaction has begun or ended into the ledger, at once."""
        await keep_gpus(self.tx, self.gpus)
        await book(self.tx, self.bookings, until=now)


def _failing(run: Run, events: Iterable[Event]) -> frozenset[str]:
    """Nodes on which the run failed for a reason that is not its user's fault."""
    failed = frozenset(node for event in events if isinstance(event, StartFailed) for node in event.nodes)
    if run.reason is Reason.NODE_LOST:
        failed |= {rank.node for rank in run.ranks if rank.state is RankState.LOST}
    return failed
