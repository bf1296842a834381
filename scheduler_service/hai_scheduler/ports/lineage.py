"""The parts of the ports Store and Cluster that keep a database and its runs together (decision 0016)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.marks import LostPast, Mark


class Superseded(Exception):
    """The cluster's mark is newer than the given one: another process leads, or the database was set back."""


class DatabaseTx(Protocol):
    """The part of a transaction that identifies its database and its history."""

    async def origins(self, task_ids: Collection[TaskId]) -> Mapping[RunId, Origin | None]:
        """The origin of every run of those tasks, by run id; unknown tasks are left out."""
        ...

    async def mark(self) -> Mark:
        """The mark of this database: its identity, and how many starts and ends of runs it has recorded."""
        ...

    async def lost_past(self) -> LostPast:
        """The ids that must not be used again."""
        ...

    async def count_steps(self, count: int, *, number: int) -> None:
        """Count `count` more starts and ends of runs; `number` is the greatest run number among the started ones."""
        ...

    async def begin_epoch(self, epoch: int, *, steps: int, after_task: int, past: LostPast) -> None:
        """Begin a new epoch: the database was restored, or is new on its cluster.

        Args:
            epoch: The new epoch.
            steps: The least number of starts and ends of runs that there have been.
            after_task: New task ids are greater than this one.
            past: The ids that must not be used again.
        """
        ...


class MarkedCluster(Protocol):
    """The part of a cluster that keeps a mark of each database whose runs it has had."""

    @property
    def exclusive(self) -> bool:
        """True if all runs on the cluster belong to this platform; False if another platform may share the cluster."""
        ...

    async def marks(self) -> Sequence[Mark]:
        """The latest mark of every database that has ever used this cluster. Raises Temporary."""
        ...

    async def put_mark(self, mark: Mark) -> None:
        """Replace the database's last mark with this one; it survives every failure that the runs survive.

        Raises:
            Superseded: A number of the mark is smaller than in the last one.
            Temporary: The call should be repeated.
        """
        ...

    async def put_aside(self, run_id: RunId) -> str | None:
        """Hide an ended run that belongs to no task, but keep its logs. Does nothing for an unknown run.

        Raises Temporary if the run has not ended.

        Returns:
            Where an admin finds what is left of the run; None if nothing is left.
        """
        ...
