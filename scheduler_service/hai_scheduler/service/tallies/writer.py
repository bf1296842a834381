"""Counts in the ticks of the loop: what a tick decides is counted in its own transaction, once or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.tallies.families import group_label, group_names
from hai_scheduler.core.tallies.moments import Nodes, count, lost_node_seconds
from hai_scheduler.core.tallies.node_time import Shares, shares_of, spend
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tallies.kept import SETTING, KeptTallies, kept_of

#: After a longer time without a tick it is not known what nodes did, so that time is not counted.
LONGEST_GAP: Final = timedelta(minutes=10)


@dataclass(slots=True, eq=False)
class TallyWriter(UseCase):
    """Keeps the tallies while this loop leads.

    In a tick: `begin`, `note` for each changed task, `write` at the end of the transaction, and `settle` after its
    commit. A tick that fails has counted nothing.
    """

    _kept: KeptTallies | None = None
    _next: KeptTallies | None = None
    #: The changes of the present tick.
    _changes: list[tuple[Task, Task]] = field(default_factory=list)
    #: What nodes do since the last tick, and when that was, by `Clock.steady`; None: no tick has been.
    _shares: Shares | None = None
    _since: float = 0.0
    _next_shares: Shares | None = None
    _next_since: float = 0.0

    def forget(self) -> None:
        """Forget what is known: another loop may have led since."""
        self._kept = self._next = self._shares = None

    def begin(self) -> None:
        """Begin a tick."""
        self._changes = []
        self._next = None

    def note(self, before: Task, after: Task) -> None:
        """Note the change of a task, which the present transaction makes."""
        if before is not after:
            self._changes.append((before, after))

    async def write(
        self, tx: Tx, now: datetime, nodes: Sequence[Node], live: Callable[[], Sequence[Task]], *, renews: bool
    ) -> None:
        """Count what the tick has noted, and the time since the last one. `renews`: the lease is written as well."""
        if self._kept is None:
            self._kept = kept_of(await tx.settings.get(SETTING))
        # Timings are no matter of the transaction: they count even if it fails.
        self._kept.tallies.absorb(self.world.timings.tallies.drain())
        after = self._next = self._kept.copy()
        after.groups = group_names(self.settings.labels.groups, after.groups, frozenset(node.group for node in nodes))
        self._next_shares = shares_of(nodes, live(), self._label)
        self._next_since = self.clock.steady()
        spend(after.tallies, self._shares or self._next_shares, self._elapsed(now), after.debts)
        after.at = now
        gpus = Nodes({node.name: node.gpus for node in nodes})
        for old, new in self._changes:
            group = self._label(new.group)
            count(after.tallies, old, new, group)
            after.debts[group] = after.debts.get(group, 0.0) + lost_node_seconds(old, new, gpus)
        if self._changes or renews:
            await tx.settings.put(SETTING, after.text)

    def settle(self) -> None:
        """Take over what the tick has counted: its transaction is committed."""
        if self._next is not None:
            self._kept, self._next = self._next, None
            self._shares, self._since = self._next_shares, self._next_since

    def _label(self, group: str) -> str:
        return group_label(group, self._next.groups if self._next is not None else ())

    def _elapsed(self, now: datetime) -> float:
        """Return the seconds since the last tick that counted; after a restart, since the other loop's last one."""
        if self._shares is not None:
            passed = self._next_since - self._since
        elif self._kept is not None and self._kept.at is not None:
            passed = (now - self._kept.at).total_seconds()
        else:
            return 0.0
        return passed if 0 <= passed <= LONGEST_GAP.total_seconds() else 0.0
