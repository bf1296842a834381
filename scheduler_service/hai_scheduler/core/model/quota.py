"""A row of quota, and what a user has used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hai_scheduler.core.model.priority import Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One row of quota (Q1): how many nodes a subject may hold at once at a level; limit None is no limit.

    `subject` is `user:NAME`, `group:NAME` (each member) or `public` (everybody); `total:NAME` caps all members of
    the user group together, beside what counts for each of them (Q2).
    """

    subject: str
    group: str
    priority: Priority
    limit: int | None
    #: Up to what users whom the row counts for may raise their own row themselves; None: not at all (Q3).
    ceiling: int | None = None
    #: From then on the row is as if it were not there (Q3).
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a user has held of a node group in runs that have ended, decayed to a moment (O3)."""

    user: str
    group: str
    node_seconds: float
    at: datetime
