"""The parts of the ports Store and Cluster that keep a database and its runs together (decision 0016)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.marks import LostPast, Mark


class Superseded(Exception):
    """The cluster has been told more than the mark says: another process leads, or the database went back."""


class DatabaseTx(Protocol):
    """What a transaction knows of its database."""

    async def origins(self, task_ids: Collection[TaskId]) -> Mapping[RunId, Origin | None]:
        """By run id, the origin of every run of those tasks; tasks that are not there are left out."""
        ...

    async def mark(self) -> Mark:
        """Who this database is, and how far it has come."""
        ...

    async def lost_past(self) -> LostPast:
        """What must not be used again."""
        ...

    async def count_steps(self, count: int, *, number: int) -> None:
        """So many more runs have been started or ended; the greatest number of a started one is `number`."""
        ...

    async def begin_epoch(self, epoch: int, *, steps: int, after_task: int, past: LostPast) -> None:
        """The database was restored, or is new on its cluster.

        Args:
            epoch: The new epoch.
            steps: How many starts and ends of runs there have been at least.
            after_task: Ids that are given from now on are greater than this.
            past: What must not be used again.
        """
        ...


class MarkedCluster(Protocol):
    """What a cluster keeps of the databases whose runs it has had."""

    @property
    def exclusive(self) -> bool:
        """Whether all runs on it are this platform's, whatever their database; else another platform may be there."""
        ...

    async def marks(self) -> Sequence[Mark]:
        """The latest mark of every database that has ever used this cluster. Raises Temporary."""
        ...

    async def put_mark(self, mark: Mark) -> None:
        """Keep the mark in place of its database's last one; it survives whatever the runs survive.

        Raises Superseded if a number of it is smaller than that one's, Temporary when it should be tried again.
        """
        ...

    async def put_aside(self, run_id: RunId) -> str | None:
        """An ended run that no task belongs to: show it no more, but keep its logs. Unknown runs are fine.

        Returns:
            Where an admin finds what is left of it, if that is anywhere. Raises Temporary if it has not ended.
        """
        ...
