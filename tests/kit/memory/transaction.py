"""A transaction of the memory store."""

from __future__ import annotations

from kit.memory.draft import Draft
from kit.memory.state import State
from kit.memory.stored.audit import MemoryAudit
from kit.memory.stored.containers import MemoryContainers
from kit.memory.stored.costs import MemoryBudgets, MemoryCapacity, MemoryRates
from kit.memory.stored.database import MemoryDatabase
from kit.memory.stored.events import MemoryEvents
from kit.memory.stored.labels import MemoryLabels
from kit.memory.stored.lease import MemoryLease
from kit.memory.stored.ledger import MemoryLedger
from kit.memory.stored.nodes import MemoryNodes
from kit.memory.stored.notifications import MemoryNotifications
from kit.memory.stored.progress import MemoryProgress
from kit.memory.stored.quotas import MemoryQuotas, MemoryUses
from kit.memory.stored.recordings import MemoryRecordings
from kit.memory.stored.runs import MemoryRuns
from kit.memory.stored.settings import MemorySettings
from kit.memory.stored.storage import MemoryAmounts
from kit.memory.stored.tasks import MemoryTasks
from kit.memory.stored.users import MemoryUsers
from kit.memory.stored.workspace import MemoryEnvironments, MemoryFoundMachines, MemoryMountRules


class MemoryTx:
    """A transaction; see `hai_scheduler.ports.store.Tx`."""

    def __init__(self, state: State, *, writing: bool) -> None:
        draft = self._draft = Draft(state, writing=writing)
        self.tasks = MemoryTasks(draft)
        self.runs = MemoryRuns(draft)
        self.recordings = MemoryRecordings(draft)
        self.labels = MemoryLabels(draft)
        self.progress = MemoryProgress(draft)
        self.events = MemoryEvents(draft)
        self.notifications = MemoryNotifications(draft)
        self.storage = MemoryAmounts(draft)
        self.ledger = MemoryLedger(draft)
        self.containers = MemoryContainers(draft)
        self.quotas = MemoryQuotas(draft)
        self.uses = MemoryUses(draft)
        self.users = MemoryUsers(draft)
        self.audit = MemoryAudit(draft)
        self.nodes = MemoryNodes(draft)
        self.mount_rules = MemoryMountRules(draft)
        self.environments = MemoryEnvironments(draft)
        self.found_machines = MemoryFoundMachines(draft)
        self.rates = MemoryRates(draft)
        self.budgets = MemoryBudgets(draft)
        self.capacity = MemoryCapacity(draft)
        self.settings = MemorySettings(draft)
        self.lease = MemoryLease(draft)
        self.database = MemoryDatabase(draft)

    @property
    def state(self) -> State:
        """The state as the transaction has changed it so far."""
        return self._draft.state

    def end(self) -> None:
        """End the transaction: every later call raises RuntimeError."""
        self._draft.end()
