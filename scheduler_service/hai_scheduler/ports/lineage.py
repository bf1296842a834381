"""The part of the port Cluster that keeps a database and its runs together (decision 0016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.marks import Mark


class Superseded(Exception):
    """The cluster's mark is newer than the given one: another process leads, or the database was set back."""


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
