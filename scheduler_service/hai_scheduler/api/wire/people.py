"""Models of users as admins see them, and of the archive."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire.audit import AuditEntryOut
from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.api.wire.cluster import LevelCount
from hai_scheduler.api.wire.quota import QuotaOut, UserQuota


class ActiveUsersOut(Output):
    """Users with live tasks."""

    #: Names of users with a task that is neither ended nor held, in alphabetical order; spot containers do not count.
    users: list[str]


PeopleOrderName = Literal["name", "seen", "running", "waiting"]


class PeopleQuery(Input):
    """Which users to list, and in which order."""

    #: A part of the name; upper and lower case are not distinguished.
    name: Annotated[str, Field(max_length=255)] | None = None
    #: Members of this user group alone.
    group: Annotated[str, Field(max_length=255)] | None = None
    #: true: archived users alone; false: the others alone (default: all).
    archived: bool | None = None
    #: By name, or with the greatest first: when they were last seen, nodes that they hold, nodes that they wait for.
    order: PeopleOrderName = "name"
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    #: `next_cursor` of the page before.
    cursor: Annotated[str, Field(max_length=2000)] | None = None


class ArchivedOut(Output):
    """Since when a user is archived, by whom, and why."""

    at: datetime
    by: str
    #: In the admin's words; may be empty.
    note: str


class UserOut(Output):
    """A user that the service has seen, or that tasks, quota or the ledger name."""

    name: str
    #: The groups that the Hub last named.
    groups: list[str]
    #: Whether a token of theirs had the right of admins within the last day on which they were seen.
    admin: bool
    #: null: the user is not archived.
    archived: ArchivedOut | None
    #: When they last used the service, to about ten minutes; null: never, as far as is known.
    seen_at: datetime | None
    running_tasks: int
    running_nodes: int
    waiting_tasks: int
    waiting_nodes: int
    #: The same by priority, highest first; levels without unfinished tasks are left out.
    levels: list[LevelCount]
    #: Levels with a row of quota or held nodes, by node group, highest priority first.
    quota: list[UserQuota]


class UserList(Output):
    """A page of users."""

    items: list[UserOut]
    #: How many users match, on all pages.
    total: int
    #: null: this is the last page.
    next_cursor: str | None


class UserDetail(UserOut):
    """One user."""

    #: Rows of quota that can count for the user, with their versions.
    rows: list[QuotaOut]
    #: The latest entries of the audit about the user, newest first.
    audit: list[AuditEntryOut]


class ArchiveRequest(Input):
    """Why a user is archived."""

    #: In words for other admins; may be empty.
    note: Annotated[str, Field(max_length=1000)] = ""


class ArchiveOut(ArchivedOut):
    """A user who is archived now."""

    name: str
    #: How many tasks were told to stop.
    stopped: int


class ArchivedNamesOut(Output):
    """The names of all archived users, sorted."""

    names: list[str]
