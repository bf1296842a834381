"""The versions of the parts that speak with this service. Whether they fit is for `hai_client.skew` to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hai_scheduler.ports.values import DatabaseFacts
from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.runs.supervisors import Supervisors
from hai_scheduler.service.shared.world import UseCase

Part = Literal["loop", "supervisor", "panel", "chart"]
#: Parts by their names among the versions of what is installed.
_INSTALLED: Final[tuple[tuple[Part, str], ...]] = (("panel", "lab"), ("chart", "chart"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartVersionView:
    """The version of a part."""

    part: Part
    #: None: it has not said it yet.
    version: str | None
    #: How many there are: of supervisors, that of live runs.
    count: int = 1


@dataclass(slots=True, eq=False)
class PartVersions(UseCase):
    """The use case."""

    health: Health
    supervisors: Supervisors

    async def look(self) -> tuple[Sequence[PartVersionView], DatabaseFacts]:
        """The versions of all parts that are there, and what is known of the database. Raises Temporary."""
        await self.health.look()
        async with self.store.read() as tx:
            tasks, facts = await tx.tasks.unfinished(), await tx.database.facts()
        heard = self.supervisors.of([task.live_run.id for task in tasks if task.live_run is not None])
        installed = await self.world.versions()
        loop = self.health.news.status
        found = [PartVersionView(part="loop", version=loop.version or None)] if loop is not None else []
        found += [
            PartVersionView(part="supervisor", version=version, count=count)
            for version, count in sorted(heard.items(), key=lambda each: each[0] or "")
        ]
        found += [
            PartVersionView(part=part, version=version)
            for part, name in _INSTALLED
            if (version := installed.get(name)) is not None
        ]
        return found, facts
