"""Books development containers: what the Hub tells of them goes into the ledger.

The Hub tells again and again which containers live, and which have ended since it was last heard. So a word that is
lost, or said twice, changes nothing: a container is counted from its begin to its end, or to when it was told of last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hai_scheduler.core.ledger.development import SILENT, DevelopmentContainer, container_facts, container_rows
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.store import Tx
from hai_scheduler.service.shared.world import UseCase

#: The setting with the hour until which containers that live were counted.
COUNTED: Final = "containers_counted"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedContainer:
    """A development container that has ended, and when."""

    container: DevelopmentContainer
    ended_at: datetime


class ContainerBooks(UseCase):
    """The use cases. Each is one transaction, and to repeat one changes nothing."""

    async def told(self, living: Sequence[DevelopmentContainer], ended: Sequence[EndedContainer]) -> None:
        """Book what the Hub tells: all containers that live now, and those whose ends it has seen.

        A container that was told of before and now neither lives nor ended has ended when it was told of last.

        Args:
            living: All of them; `seen_at` is now.
            ended: Those that have ended lately; one may come again and again.
        """
        now = self.clock.now()
        alive = {each.id: _until_now(each, now) for each in living}
        gone = {each.container.id: each for each in ended if each.container.id not in alive}
        async with self.store.write() as tx:
            known = {each.id: each for each in await tx.containers.all()}
            began = {number: each for number, each in alive.items() if number not in known}
            # A begin that was told once stays: the clock of the Hub may have been set since.
            goes_on = [replace(known[number], seen_at=now) for number in alive.keys() & known.keys()]
            await tx.containers.put([*began.values(), *goes_on])
            hour = begin_of(Period.HOUR, now)
            await _book(tx, dict.fromkeys(began.values()), until=hour)
            ends: dict[DevelopmentContainer, datetime | None] = {
                each: each.seen_at for number, each in known.items() if number not in alive and number not in gone
            }
            for number, each in gone.items():
                container = known.get(number) or _until_now(each.container, now)
                ends[container] = min(max(each.ended_at, container.started_at), now)
            await _book(tx, ends, until=hour)
            await tx.containers.remove({each.id for each in ends})

    async def count(self) -> int:
        """Count containers until the begin of this hour, and end those that are silent; returns how many live."""
        now = self.clock.now()
        hour = begin_of(Period.HOUR, now)
        async with self.store.read() as tx:
            every = await tx.containers.all()
            counted = await tx.settings.get(COUNTED) == hour.isoformat()
            if not every or (counted and not any(_is_silent(each, now) for each in every)):
                return len(every)
        async with self.store.write() as tx:
            every = await tx.containers.all()
            silent = [each for each in every if _is_silent(each, now)]
            ends: dict[DevelopmentContainer, datetime | None] = dict.fromkeys(every)
            ends |= {each: each.seen_at for each in silent}
            await _book(tx, ends, until=hour)
            await tx.containers.remove({each.id for each in silent})
            await tx.settings.put(COUNTED, hour.isoformat())
        return len(every) - len(silent)


def _is_silent(container: DevelopmentContainer, now: datetime) -> bool:
    return now - container.seen_at > SILENT


def _until_now(container: DevelopmentContainer, now: datetime) -> DevelopmentContainer:
    """Return the container as told of now; the clock of the Hub may go ahead of this one."""
    return replace(container, started_at=min(container.started_at, now), seen_at=now)


async def _book(tx: Tx, ends: Mapping[DevelopmentContainer, datetime | None], *, until: datetime) -> None:
    """Write all rows of these containers; None: it lives, and is counted until then or until it was told of last."""
    if not ends:
        return
    known = await tx.ledger.of_runs({each.run_id for each in ends})
    rows: dict[RunId, Sequence[LedgerRow]] = {}
    for each, ended_at in ends.items():
        # What was known when it began stays: its user may have been erased since.
        facts = known[each.run_id][0].facts if each.run_id in known else container_facts(each)
        rows[each.run_id] = container_rows(facts, each, until=min(until, each.seen_at), ended_at=ended_at)
    await tx.ledger.put(rows)
