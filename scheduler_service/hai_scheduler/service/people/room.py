"""The room of people."""

from __future__ import annotations

from hai_scheduler.service.people.archiving import Archiving
from hai_scheduler.service.people.groups import GroupsInStep, GroupsOfUsers
from hai_scheduler.service.quota.own import OwnQuotas
from hai_scheduler.service.shared.archived_names import ArchivedNames
from hai_scheduler.service.shared.world import World


class PeopleRoom:
    """Who may use the platform, and how much of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.archiving = Archiving(world, ArchivedNames(store=world.store, clock=world.clock))
        self.own_quotas = OwnQuotas(world)

    def groups_in_step(self, ask: GroupsOfUsers) -> GroupsInStep:
        """Return what keeps the groups of users as the Hub has them."""
        return GroupsInStep(self._world, ask)
