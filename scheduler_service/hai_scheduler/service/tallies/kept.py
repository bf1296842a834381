"""The tallies as they are kept in the store: one small row, the setting `tallies`, which the leader writes.

Every process of the API reads it, so all show the same numbers, and these go on where they were after a restart.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from hai_scheduler.core.tallies.families import FAMILIES
from hai_scheduler.core.tallies.tallies import Histogram, Tallies
from hai_scheduler.store.store import Store

log = logging.getLogger(__name__)

#: The name of the setting.
SETTING: Final = "tallies"


@dataclass(slots=True, kw_only=True)
class KeptTallies:
    """The tallies of all loops that have led, and what is needed to go on with them."""

    tallies: Tallies = field(default_factory=Tallies)
    #: Until when node seconds are counted; None: none are.
    at: datetime | None = None
    #: The node groups that have a label of their own.
    groups: tuple[str, ...] = ()
    #: Lost node seconds that are not counted yet, by label of the node group (`core.tallies.node_time`).
    debts: dict[str, float] = field(default_factory=dict)

    def copy(self) -> KeptTallies:
        """Return what can be changed apart from this."""
        return KeptTallies(tallies=self.tallies.copy(), at=self.at, groups=self.groups, debts=dict(self.debts))

    @property
    def text(self) -> str:
        """The tallies as JSON."""
        kept = {
            "at": None if self.at is None else self.at.isoformat(),
            "groups": self.groups,
            "debts": {group: debt for group, debt in self.debts.items() if debt},
            "counters": {name: [*map(list, found.items())] for name, found in self.tallies.counters.items()},
            "histograms": {
                name: {
                    "bounds": FAMILIES[name].bounds,
                    "series": [[labels, each.total, each.counts] for labels, each in found.items()],
                }
                for name, found in self.tallies.histograms.items()
            },
        }
        return json.dumps(kept, separators=(",", ":"))


def kept_of(text: str | None) -> KeptTallies:
    """Return the tallies from their JSON; what another version of HAI counted otherwise begins at 0."""
    if text is None:
        return KeptTallies()
    try:
        plain: dict[str, Any] = json.loads(text)
        return KeptTallies(
            tallies=Tallies(_counters(plain["counters"]), _histograms(plain["histograms"])),
            at=None if plain["at"] is None else datetime.fromisoformat(plain["at"]),
            groups=tuple(map(str, plain["groups"])),
            debts={str(group): float(debt) for group, debt in plain["debts"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        log.warning("what was counted for metrics cannot be read and begins at 0: another version wrote it")
        return KeptTallies()


def _counters(plain: dict[str, Any]) -> dict[str, dict[tuple[str, ...], float]]:
    return {
        name: {tuple(labels): float(value) for labels, value in found if len(labels) == len(FAMILIES[name].labels)}
        for name, found in plain.items()
        if name in FAMILIES and not FAMILIES[name].bounds
    }


def _histograms(plain: dict[str, Any]) -> dict[str, dict[tuple[str, ...], Histogram]]:
    return {
        name: {
            tuple(labels): Histogram([int(each) for each in counts], float(total))
            for labels, total, counts in found["series"]
            if len(labels) == len(FAMILIES[name].labels) and len(counts) == len(FAMILIES[name].bounds) + 1
        }
        for name, found in plain.items()
        if name in FAMILIES and FAMILIES[name].bounds and tuple(found["bounds"]) == FAMILIES[name].bounds
    }


@dataclass(slots=True)
class TallyReader:
    """The tallies as last read."""

    store: Store
    kept: KeptTallies = field(default_factory=KeptTallies)

    async def look(self) -> None:
        """Read the tallies. Raises Temporary."""
        async with self.store.read() as tx:
            self.kept = kept_of(await tx.settings.get(SETTING))
