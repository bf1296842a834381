"""The room of accounting."""

from __future__ import annotations

from hai_scheduler.service.accounting.containers import ContainerBooks
from hai_scheduler.service.accounting.costs import Costs
from hai_scheduler.service.accounting.reports import Reports
from hai_scheduler.service.shared.world import World


class AccountingRoom:
    """What was used, and what it costs."""

    def __init__(self, world: World) -> None:
        self.containers = ContainerBooks(world)
        self.costs = Costs(world)
        self.reports = Reports(world)
