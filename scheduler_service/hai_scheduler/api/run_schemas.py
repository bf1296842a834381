"""The wire of what a run may know of itself; `schemas` has the rest."""

from __future__ import annotations

from hai_scheduler.api.schemas import Output, TaskStateName


class RunFactsOut(Output):
    """A live run: whose it is, and where it can be reached."""

    run_id: str
    task_id: int
    #: Number of the run within its task, from 1.
    number: int
    #: The task's name.
    name: str
    user: str
    #: The task's.
    state: TaskStateName
    #: The node of rank 0.
    node: str
    #: Where rank 0 can be reached; null until every rank is up.
    address: str | None
