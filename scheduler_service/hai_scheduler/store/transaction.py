"""A transaction on a database."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from hai_scheduler.store.known import KnownFacts, KnownTasks
from hai_scheduler.store.parts.audit import SqlAudit
from hai_scheduler.store.parts.containers import SqlContainers
from hai_scheduler.store.parts.costs import SqlBudgets, SqlCapacity, SqlRates
from hai_scheduler.store.parts.database import SqlDatabase
from hai_scheduler.store.parts.events import SqlEvents
from hai_scheduler.store.parts.labels import SqlLabels
from hai_scheduler.store.parts.lease import SqlLease
from hai_scheduler.store.parts.ledger import SqlLedger
from hai_scheduler.store.parts.nodes import SqlNodes
from hai_scheduler.store.parts.notifications import SqlNotifications
from hai_scheduler.store.parts.progress import SqlProgress
from hai_scheduler.store.parts.quotas import SqlQuotas, SqlUses
from hai_scheduler.store.parts.recordings import SqlRecordings
from hai_scheduler.store.parts.runs import SqlRuns
from hai_scheduler.store.parts.settings import SqlSettings
from hai_scheduler.store.parts.storage import SqlAmounts
from hai_scheduler.store.parts.tasks import SqlTasks
from hai_scheduler.store.parts.users import SqlUsers
from hai_scheduler.store.parts.workspace import SqlEnvironments, SqlFoundMachines, SqlMountRules
from hai_scheduler.store.small_tables import SmallTables
from hai_scheduler.store.statements import Statements
from hai_scheduler.store.summary import Summary


class SqlTx:
    """A transaction; see `hai_scheduler.ports.store.Tx`."""

    def __init__(
        self, connection: AsyncConnection, *, writing: bool, known: KnownTasks, known_facts: KnownFacts
    ) -> None:
        statements = self._statements = Statements(connection, writing=writing)
        summary = Summary(statements)
        tables = SmallTables(statements, summary, known_facts)
        self.tasks = SqlTasks(statements, summary, known)
        self.runs = SqlRuns(statements)
        self.recordings = SqlRecordings(statements)
        self.labels = SqlLabels(statements)
        self.progress = SqlProgress(statements)
        self.events = SqlEvents(statements, summary)
        self.notifications = SqlNotifications(statements, tables)
        self.storage = SqlAmounts(statements)
        self.ledger = SqlLedger(statements)
        self.containers = SqlContainers(statements)
        self.quotas = SqlQuotas(statements, tables)
        self.uses = SqlUses(statements, tables)
        self.users = SqlUsers(statements, tables)
        self.audit = SqlAudit(statements)
        self.nodes = SqlNodes(statements, tables)
        self.mount_rules = SqlMountRules(statements, tables)
        self.environments = SqlEnvironments(statements, tables)
        self.found_machines = SqlFoundMachines(statements)
        self.rates = SqlRates(statements)
        self.budgets = SqlBudgets(statements)
        self.capacity = SqlCapacity(statements)
        self.settings = SqlSettings(statements, tables)
        self.lease = SqlLease(statements)
        self.database = SqlDatabase(statements, summary)

    async def flush(self) -> None:
        """Write all rows that are waiting to be written. Raises what `StoredTasks.save` does."""
        await self._statements.flush()

    def end(self) -> None:
        """End the transaction: every later call raises RuntimeError."""
        self._statements.end()
