"""What would let a waiting task start, as data. `what_if` finds it, `explain` turns it into a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.verdicts import Holder


class ChangeKind(StrEnum):
    """What would be changed."""

    #: The level that the task asks for.
    PRIORITY = "PRIORITY"
    #: On how many nodes it runs.
    NODES = "NODES"
    #: How many GPUs it takes of each of them (U2).
    GPUS = "GPUS"
    #: A row of quota.
    LIMIT = "LIMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A change of one thing, and what `plan` would do then."""

    kind: ChangeKind
    priority: Priority | None = None
    nodes: int | None = None
    gpus: int | None = None
    #: The new limit of the row of `subject`.
    limit: int | None = None
    subject: str | None = None
    #: Whether it would start at once; else nodes would be freed for it, and it would start then.
    starts_now: bool
    #: By when at the latest the nodes would be free, where that can be said.
    starts_by: datetime | None = None
    #: Who would be told to leave for it.
    suspends: tuple[Holder, ...] = ()
