"""Models of the health of the platform as admins see it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from hai_scheduler.api.wire.base import Output


class LiveOut(Output):
    """The answer of a process that is alive."""

    status: Literal["live"] = "live"


class ReadyOut(Output):
    """The answer of a replica that can serve. `leader` says which replica schedules, as seen from this one."""

    status: Literal["ready"] = "ready"
    leader: Literal["this", "another", "nobody"]


class SchedulerHealth(Output):
    """How the scheduling loop does."""

    #: Whether it decides. While it does not, no task starts, none is interrupted, and running tasks go on.
    deciding: bool
    #: What is wrong, in a sentence; null: all is well.
    detail: str | None
    #: Whether an admin has paused the platform.
    paused: bool
    #: The loop that leads, and until when without a renewal; null: none does, or it is not known.
    leader: str | None
    lease_until: datetime | None
    #: When the last tick succeeded, and seconds since; null: not known.
    last_tick: datetime | None
    last_tick_s: float | None
    #: Ticks since the loop started.
    ticks: int
    #: Seconds within which half, and 95 of 100, of its latest ticks were done.
    tick_p50_s: float
    tick_p95_s: float


class DatabaseHealth(Output):
    """How the database does."""

    reachable: bool
    #: `sqlite`, `postgresql` or `memory`; null: it does not answer.
    kind: str | None
    #: Seconds that it took for an answer.
    answer_s: float | None
    #: In bytes; null: not known.
    size: int | None
    #: The revision of its tables.
    revision: str | None


class ClusterHealth(Output):
    """How the cluster does."""

    reachable: bool
    #: Seconds that it took to name its nodes.
    answer_s: float | None
    #: The number of nodes in each state: free, held, lost, closed, crowded, orphan, cordoned, draining, quarantined.
    nodes: dict[str, int]


class AlarmOut(Output):
    """An alarm in force, by the rule of the alert of that name."""

    name: str
    severity: Literal["critical", "warning", "info"]
    summary: str
    detail: str
    #: The node group that it is about, and how many of its nodes; null: it is about no node group.
    group: str | None
    count: int | None
    #: The page that says what to do, from the root of the documentation.
    runbook: str


class DoubledUidOut(Output):
    """A number that several users have: they can read and change the files of each other."""

    uid: int
    users: list[str]


class PartVersionOut(Output):
    """The version of a part that speaks with the service. docs/versions.md says which fit."""

    part: Literal["loop", "supervisor", "panel", "chart"]
    #: null: it has not said it yet.
    version: str | None
    #: How many there are: of supervisors, that of live runs.
    count: int


class VersionsOut(Output):
    """The versions of the service, of its database, and of the parts that speak with it."""

    service: str
    parts: list[PartVersionOut]
    #: The revision of the database's tables, and the newest that the service knows.
    revision: str | None
    known_revision: str


class PlatformHealth(Output):
    """The health of the platform for admins. `status` is `ok` or `degraded`."""

    status: Literal["ok", "degraded"]
    scheduler: SchedulerHealth
    database: DatabaseHealth
    cluster: ClusterHealth
    #: Versions by part: service, loop, jupyterhub, platform, lab, client, environments, python; null: not known.
    versions: dict[str, str | None]
    alarms: list[AlarmOut]
    #: Numbers that several users have; empty: each has one of their own, or all are one account on purpose.
    doubled_uids: list[DoubledUidOut] = Field(default=[])
