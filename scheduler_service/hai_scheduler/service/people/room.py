"""The room of people."""

from __future__ import annotations

from hai_scheduler.service.people.archiving import Archiving
from hai_scheduler.service.quota.own import OwnQuotas
from hai_scheduler.service.shared.archived_names import ArchivedNames
from hai_scheduler.service.shared.world import World


class PeopleRoom:
    """Who may use the platform, and how much of it."""

    def __init__(self, world: World) -> None:
        self.archiving = Archiving(world, ArchivedNames(store=world.store, clock=world.clock))
        self.own_quotas = OwnQuotas(world)
