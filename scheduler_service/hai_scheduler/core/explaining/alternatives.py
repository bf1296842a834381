"""Changes that would let a waiting task start, as data. `what_if` finds them, `explain` makes sentences of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import Holder


class ChangeKind(StrEnum):
    """The thing that a change is about."""

    #: The priority that the task asks for.
    PRIORITY = "PRIORITY"
    #: How many nodes the task takes.
    NODES = "NODES"
    #: How many GPUs the task takes of each node (U2).
    GPUS = "GPUS"
    #: A row of quota.
    LIMIT = "LIMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """One change, and what `plan` would do with it."""

    kind: ChangeKind
    priority: Priority | None = None
    nodes: int | None = None
    gpus: int | None = None
    #: The new limit of the row of `subject`.
    limit: int | None = None
    subject: str | None = None
    #: Whether the task would start at once; else nodes would be freed for it, and it would start then.
    starts_now: bool
    #: The latest time at which the nodes would be free, if that is known.
    starts_by: datetime | None = None
    #: The tasks that would be told to leave for it.
    suspends: tuple[Holder, ...] = ()
