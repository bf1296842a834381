"""The store: keeps tasks, quota, nodes, users and events, which are read and written in transactions."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from hai_scheduler.ports.logs import LogStore
from hai_scheduler.ports.series import SeriesStore
from hai_scheduler.ports.stored.audit import StoredAudit
from hai_scheduler.ports.stored.containers import StoredContainers
from hai_scheduler.ports.stored.costs import StoredBudgets, StoredCapacity, StoredRates
from hai_scheduler.ports.stored.database import DatabaseRecord
from hai_scheduler.ports.stored.events import StoredEvents
from hai_scheduler.ports.stored.labels import StoredLabels
from hai_scheduler.ports.stored.lease import StoredLease
from hai_scheduler.ports.stored.ledger import StoredLedger
from hai_scheduler.ports.stored.nodes import StoredNodes
from hai_scheduler.ports.stored.notifications import StoredNotifications
from hai_scheduler.ports.stored.progress import StoredProgress
from hai_scheduler.ports.stored.quotas import StoredQuotas, StoredUses
from hai_scheduler.ports.stored.recordings import StoredRecordings
from hai_scheduler.ports.stored.runs import StoredRuns
from hai_scheduler.ports.stored.settings import StoredSettings
from hai_scheduler.ports.stored.storage import StoredAmounts
from hai_scheduler.ports.stored.tasks import StoredTasks
from hai_scheduler.ports.stored.users import StoredUsers
from hai_scheduler.ports.stored.workspace import StoredEnvironments, StoredFoundMachines, StoredMountRules


class Tx(Protocol):
    """One transaction: its writes are committed together or not at all. Reads see the transaction's own writes.

    It has a part for each kind of thing that is stored. All parts see the same moment, and none has to be closed.
    A call after the end of the transaction, and a write in a view, raise RuntimeError.
    """

    @property
    def tasks(self) -> StoredTasks:
        """The tasks."""
        ...

    @property
    def runs(self) -> StoredRuns:
        """The runs of tasks."""
        ...

    @property
    def recordings(self) -> StoredRecordings:
        """The recordings of what tasks do."""
        ...

    @property
    def labels(self) -> StoredLabels:
        """The tags and stars of tasks."""
        ...

    @property
    def progress(self) -> StoredProgress:
        """How far the jobs of tasks have come."""
        ...

    @property
    def events(self) -> StoredEvents:
        """History, feed and audit trail."""
        ...

    @property
    def notifications(self) -> StoredNotifications:
        """What users are told, and their rules."""
        ...

    @property
    def storage(self) -> StoredAmounts:
        """How much each user keeps here."""
        ...

    @property
    def ledger(self) -> StoredLedger:
        """What runs took; it outlives their tasks."""
        ...

    @property
    def containers(self) -> StoredContainers:
        """The development containers that live."""
        ...

    @property
    def quotas(self) -> StoredQuotas:
        """The rows of quota."""
        ...

    @property
    def uses(self) -> StoredUses:
        """The decayed use of users."""
        ...

    @property
    def users(self) -> StoredUsers:
        """The users that were seen, their visits, and who is archived."""
        ...

    @property
    def audit(self) -> StoredAudit:
        """Who changed what."""
        ...

    @property
    def nodes(self) -> StoredNodes:
        """Marks of nodes, and failures on them."""
        ...

    @property
    def mount_rules(self) -> StoredMountRules:
        """The mount rules."""
        ...

    @property
    def environments(self) -> StoredEnvironments:
        """The environments."""
        ...

    @property
    def found_machines(self) -> StoredFoundMachines:
        """What tasks have found in images."""
        ...

    @property
    def rates(self) -> StoredRates:
        """What node hours and GPU hours cost."""
        ...

    @property
    def budgets(self) -> StoredBudgets:
        """The budgets of user groups."""
        ...

    @property
    def capacity(self) -> StoredCapacity:
        """How much node time there was."""
        ...

    @property
    def settings(self) -> StoredSettings:
        """Small named values of the platform."""
        ...

    @property
    def lease(self) -> StoredLease:
        """The leader lease."""
        ...

    @property
    def database(self) -> DatabaseRecord:
        """The identity of the database, and how far it has come."""
        ...


class Store(Protocol):
    """The durable state of the platform. What a committed transaction wrote survives any crash."""

    @property
    def logs(self) -> LogStore:
        """The logs that ranks have sent."""
        ...

    @property
    def series(self) -> SeriesStore:
        """The series of metrics that ranks have sent."""
        ...

    def read(self) -> AbstractAsyncContextManager[Tx]:
        """A transaction with a consistent view; a write raises RuntimeError. Raises Temporary, as `write` does."""
        ...

    def disk_full(self) -> bool:
        """Whether the disk with the database's files is full, as far as this process can see it."""
        ...

    def write(self) -> AbstractAsyncContextManager[Tx]:
        """A transaction that commits at its end and rolls back on any exception. Writers go one after the other."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
