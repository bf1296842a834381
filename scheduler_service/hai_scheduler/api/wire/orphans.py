"""Models of orphaned runs, which belong to no task of the database."""

from __future__ import annotations

from hai_scheduler.api.wire.base import Output


class OrphanOut(Output):
    """An orphaned run: a run on the cluster without a task, since the database was restored or is another one."""

    #: `<task id>.<run number>` in the database that had started the run.
    run: str
    #: `<database>-<epoch>`; null for runs that older versions have started.
    origin: str | None
    #: The user of the run; null: the cluster does not know.
    user: str | None
    #: The nodes that the run holds.
    nodes: list[str]
    #: Whether a process of it is left. An ended run that may be another platform's stays until an admin ends it here.
    live: bool
    #: Whether an admin has ordered its end.
    ending: bool


class OrphanList(Output):
    """All orphaned runs."""

    items: list[OrphanOut]
