"""Runs that belong to no task of the database, on the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.base import Output


class OrphanOut(Output):
    """A run on the cluster that belongs to no task: the database was restored, or is another one."""

    #: `<task id>.<run number>`, as the database called it that had started the run.
    run: str
    #: `<database>-<epoch>`; null where nobody has written it down.
    origin: str | None
    #: As far as the cluster knows.
    user: str | None
    #: The nodes that it holds.
    nodes: list[str]
    #: Whether anything of it is left. An ended one that may be another platform's is kept until an admin ends it here.
    live: bool
    #: Whether an admin has asked for its end.
    ending: bool


class OrphanList(Output):
    """All of them."""

    items: list[OrphanOut]
