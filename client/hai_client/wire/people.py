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
    note: str  #: In the admin's words; may be empty.


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user that the service has seen, or that tasks, quota or the ledger name."""

    name: str
    groups: tuple[str, ...]  #: The groups that the Hub last named.
    admin: bool  #: Whether a token of theirs had the right of admins within the last day on which they were seen.
    archived: Archived | None = None  #: None: the user is not archived.
    #: When they last used the service, to about ten minutes; None: never, as far as is known.
    seen_at: datetime | None = None
    running_tasks: int
    running_nodes: int
    waiting_tasks: int
    waiting_nodes: int
    #: The same by priority, highest first; levels without unfinished tasks are left out.
    levels: tuple[LevelCount, ...]
    quota: tuple[UserQuota, ...]  #: Levels with a row of quota or held nodes, by node group, highest priority first.


@dataclass(frozen=True, slots=True, kw_only=True)
class UserList:
    """A page of users."""

    items: tuple[User, ...]
    total: int  #: How many users match, on all pages.
    next_cursor: str | None = None  #: None: this is the last page.


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDetail(User):
    """One user."""

    rows: tuple[Quota, ...]  #: Rows of quota that can count for the user, with their versions.
    audit: tuple[AuditEntry, ...]  #: The latest entries of the audit about the user, newest first.


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive(Archived):
    """A user who is archived now."""

    name: str
    stopped: int  #: How many tasks were told to stop.


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One action of an admin, or of a user on their own quota."""

    number: int
    at: datetime
    actor: str  #: Who did it.
    action: str
    subject: str  #: What was changed: its kind, a colon and its name.
    #: What was there before, and is there now, without secrets and long values; None: there was or is nothing.
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    address: str | None = None  #: The address that the request came from; None: not known.


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """A page of the audit, newest first."""

    items: tuple[AuditEntry, ...]
    next_cursor: int | None = None  #: None: this is the last page.


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerHealth:
    """How the scheduling loop does."""

    #: Whether it decides. While it does not, no task starts, none is interrupted, and running tasks go on.
    deciding: bool
    detail: str | None = None  #: What is wrong, in a sentence; None: all is well.
    paused: bool  #: Whether an admin has paused the platform.
    #: The loop that leads, and until when without a renewal; None: none does, or it is not known.
    leader: str | None = None
    lease_until: datetime | None = None
    last_tick: datetime | None = None  #: When the last tick succeeded, and seconds since; None: not known.
    last_tick_s: float | None = None
    ticks: int  #: Ticks since the loop started.
    tick_p50_s: float  #: Seconds within which half, and 95 of 100, of its latest ticks were done.
    tick_p95_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseHealth:
    """How the database does."""

    reachable: bool
    kind: str | None = None  #: `sqlite`, `postgresql` or `memory`; None: it does not answer.
    answer_s: float | None = None  #: Seconds that it took for an answer.
    size: int | None = None  #: In bytes; None: not known.
    revision: str | None = None  #: The revision of its tables.


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHealth:
    """How the cluster does."""

    reachable: bool
    answer_s: float | None = None  #: Seconds that it took to name its nodes.
    #: The number of nodes in each state: free, held, lost, closed, crowded, orphan, cordoned, draining, quarantined.
    nodes: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm in force, by the rule of the alert of that name."""

    name: str
    severity: str  #: One of critical, warning, info.
    summary: str
    detail: str
    #: The node group that it is about, and how many of its nodes; None: it is about no node group.
    group: str | None = None
    count: int | None = None
    runbook: str  #: The page that says what to do, from the root of the documentation.


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubledUid:
    """A number that several users have: they can read and change the files of each other."""

    uid: int
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartVersion:
    """The version of a part that speaks with the service. docs/versions.md says which fit."""

    part: str  #: One of loop, supervisor, panel, chart.
    version: str | None = None  #: None: it has not said it yet.
    count: int  #: How many there are: of supervisors, that of live runs.


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The versions of the service, of its database, and of the parts that speak with it."""

    service: str
    parts: tuple[PartVersion, ...]
    revision: str | None = None  #: The revision of the database's tables, and the newest that the service knows.
    known_revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformHealth:
    """The health of the platform for admins. `status` is `ok` or `degraded`."""

    status: str  #: One of ok, degraded.
    scheduler: SchedulerHealth
    database: DatabaseHealth
    cluster: ClusterHealth
    #: Versions by part: service, loop, jupyterhub, platform, lab, client, environments, python; None: not known.
    versions: dict[str, str | None]
    alarms: tuple[Alarm, ...]
    #: Numbers that several users have; empty: each has one of their own, or all are one account on purpose.
    doubled_uids: tuple[DoubledUid, ...] = ()
