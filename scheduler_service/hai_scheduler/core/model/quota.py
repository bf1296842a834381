"""A row of quota, and the use of a user."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hai_scheduler.core.model.priority import Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One row of quota (Q1): how many nodes a subject may hold at once at a priority; limit None is no limit.

    `subject` is `user:NAME`, `group:NAME` (each member) or `public` (each user); `total:NAME` limits all members of
    the user group together, in addition to the row that counts for each member (Q2).
    """

    subject: str
    group: str
    priority: Priority
    limit: int | None
    #: The most nodes up to which users whom the row counts for may raise their own row; None: not at all (Q3).
    ceiling: int | None = None
    #: From this time on the row is ignored (Q3).
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The node-seconds that ended runs of a user have held of a node group, decayed to the time `at` (O3)."""

    user: str
    group: str
    node_seconds: float
    at: datetime
