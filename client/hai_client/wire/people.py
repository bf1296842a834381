"""Users, the audit and the platform's health for admins, as frozen dataclasses.

Written by `make reference` from the models of the service: change those, not this. Times are aware
datetimes; lengths of time are seconds in fields that end in `_s`; states, priorities, kinds and reasons are the plain
words of the wire.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hai_client.backports import dataclass
from hai_client.wire.schema import LevelCount, Quota, UserQuota


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """Since when a user is archived, by whom, and why."""

    at: datetime
    by: str
    #: In the admin's words; may be empty.
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user that the service has seen, or that tasks, quota or the ledger name."""

    name: str
    #: The groups that the Hub last named.
    groups: tuple[str, ...]
    #: Whether a token of theirs had the right of admins within the last day on which they were seen.
    admin: bool
    #: None: the user is not archived.
    archived: Archived | None = None
    #: When they last used the service, to about ten minutes; None: never, as far as is known.
    seen_at: datetime | None = None
    running_tasks: int
    running_nodes: int
    waiting_tasks: int
    waiting_nodes: int
    #: The same by priority, highest first; levels without unfinished tasks are left out.
    levels: tuple[LevelCount, ...]
    #: Levels with a row of quota or held nodes, by node group, highest priority first.
    quota: tuple[UserQuota, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserList:
    """A page of users."""

    items: tuple[User, ...]
    #: How many users match, on all pages.
    total: int
    #: None: this is the last page.
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDetail(User):
    """One user."""

    #: Rows of quota that can count for the user, with their versions.
    rows: tuple[Quota, ...]
    #: The latest entries of the audit about the user, newest first.
    audit: tuple[AuditEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive(Archived):
    """A user who is archived now."""

    name: str
    #: How many tasks were told to stop.
    stopped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One action of an admin, or of a user on their own quota."""

    number: int
    at: datetime
    #: Who did it.
    actor: str
    action: str
    #: What was changed: its kind, a colon and its name.
    subject: str
    #: What was there before, and is there now, without secrets and long values; None: there was or is nothing.
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    #: The address that the request came from; None: not known.
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """A page of the audit, newest first."""

    items: tuple[AuditEntry, ...]
    #: None: this is the last page.
    next_cursor: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerHealth:
    """How the scheduling loop does."""

    #: Whether it decides. While it does not, no task starts, none is interrupted, and running tasks go on.
    deciding: bool
    #: What is wrong, in a sentence; None: all is well.
    detail: str | None = None
    #: Whether an admin has paused the platform.
    paused: bool
    #: The loop that leads, and until when without a renewal; None: none does, or it is not known.
    leader: str | None = None
    lease_until: datetime | None = None
    #: When the last tick succeeded, and seconds since; None: not known.
    last_tick: datetime | None = None
    last_tick_s: float | None = None
    #: Ticks since the loop started.
    ticks: int
    #: Seconds within which half, and 95 of 100, of its latest ticks were done.
    tick_p50_s: float
    tick_p95_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseHealth:
    """How the database does."""

    reachable: bool
    #: `sqlite`, `postgresql` or `memory`; None: it does not answer.
    kind: str | None = None
    #: Seconds that it took for an answer.
    answer_s: float | None = None
    #: In bytes; None: not known.
    size: int | None = None
    #: The revision of its tables.
    revision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHealth:
    """How the cluster does."""

    reachable: bool
    #: Seconds that it took to name its nodes.
    answer_s: float | None = None
    #: The number of nodes in each state: free, held, lost, closed, orphan, cordoned, draining, quarantined.
    nodes: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm in force, by the rule of the alert of that name."""

    name: str
    #: One of critical, warning, info.
    severity: str
    summary: str
    detail: str
    #: The node group that it is about, and how many of its nodes; None: it is about no node group.
    group: str | None = None
    count: int | None = None
    #: The page that says what to do, from the root of the documentation.
    runbook: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformHealth:
    """The health of the platform for admins. `status` is `ok` or `degraded`."""

    #: One of ok, degraded.
    status: str
    scheduler: SchedulerHealth
    database: DatabaseHealth
    cluster: ClusterHealth
    #: Versions by part: service, loop, jupyterhub, platform, lab, client, environments, python; None: not known.
    versions: dict[str, str | None]
    alarms: tuple[Alarm, ...]
