"""A transaction of the store."""

from __future__ import annotations

from hai_scheduler.store.known import KnownFacts, KnownTasks
from hai_scheduler.store.parts.audit import StoredAudit
from hai_scheduler.store.parts.containers import StoredContainers
from hai_scheduler.store.parts.costs import StoredBudgets, StoredCapacity, StoredRates
from hai_scheduler.store.parts.database import DatabaseRecord, StoredLease, StoredSettings
from hai_scheduler.store.parts.events import StoredEvents
from hai_scheduler.store.parts.labels import StoredLabels
from hai_scheduler.store.parts.ledger import StoredLedger
from hai_scheduler.store.parts.nodes import StoredNodes
from hai_scheduler.store.parts.notifications import StoredNotifications
from hai_scheduler.store.parts.progress import StoredProgress
from hai_scheduler.store.parts.quotas import StoredQuotas, StoredUses
from hai_scheduler.store.parts.recordings import StoredRecordings
from hai_scheduler.store.parts.runs import StoredRuns
from hai_scheduler.store.parts.secrets import StoredSecrets
from hai_scheduler.store.parts.storage import StoredAmounts
from hai_scheduler.store.parts.tasks import StoredTasks
from hai_scheduler.store.parts.users import StoredUsers
from hai_scheduler.store.parts.workspace import (
    StoredEnvironments,
    StoredFabrics,
    StoredFoundMachines,
    StoredMountRules,
)
from hai_scheduler.store.small_tables import SmallTables
from hai_scheduler.store.statements import Statements


class Tx:
    """One transaction: its writes are committed together or not at all. Reads see the transaction's own writes.

    It has a part for each kind of thing that is stored. All parts see the same moment, and none has to be closed.
    A call after the end of the transaction, and a write in a view, raise RuntimeError.
    """

    def __init__(self, statements: Statements, *, known: KnownTasks, known_facts: KnownFacts) -> None:
        tables = SmallTables(statements, known_facts)
        self.tasks = StoredTasks(statements, tables, known)
        self.runs = StoredRuns(statements, tables)
        self.recordings = StoredRecordings(statements, tables)
        self.labels = StoredLabels(statements, tables)
        self.progress = StoredProgress(statements, tables)
        self.events = StoredEvents(statements, tables)
        self.notifications = StoredNotifications(statements, tables)
        self.secrets = StoredSecrets(statements, tables)
        self.storage = StoredAmounts(statements, tables)
        self.ledger = StoredLedger(statements, tables)
        self.containers = StoredContainers(statements, tables)
        self.quotas = StoredQuotas(statements, tables)
        self.uses = StoredUses(statements, tables)
        self.users = StoredUsers(statements, tables)
        self.audit = StoredAudit(statements, tables)
        self.nodes = StoredNodes(statements, tables)
        self.mount_rules = StoredMountRules(statements, tables)
        self.fabrics = StoredFabrics(statements, tables)
        self.environments = StoredEnvironments(statements, tables)
        self.found_machines = StoredFoundMachines(statements, tables)
        self.rates = StoredRates(statements, tables)
        self.budgets = StoredBudgets(statements, tables)
        self.capacity = StoredCapacity(statements, tables)
        self.settings = StoredSettings(statements, tables)
        self.lease = StoredLease(statements, tables)
        self.database = DatabaseRecord(statements, tables)
