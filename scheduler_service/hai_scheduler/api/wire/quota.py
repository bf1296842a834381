"""Quota on the wire, and who asks with what he may hold."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field

from hai_scheduler.api.wire.base import Input, Output, PriorityName, in_range


class QuotaOut(Output):
    """A row of quota. limit None is no limit."""

    subject: str
    group: str
    priority: PriorityName
    limit: int | None
    #: Up to what users for whom the row counts may raise their own row themselves; null: not at all.
    ceiling: int | None
    #: From then on the row is as if it were not there.
    expires_at: datetime | None
    #: That time has come. Admins see such rows for 30 days.
    expired: bool
    #: In the answer to a change: what looks like a slip of the pen.
    warning: str | None = None


class QuotaList(Output):
    """All rows."""

    items: list[QuotaOut]


class QuotaPut(Input):
    """Write a row of quota, all of it; limit null is no limit.

    `subject` is `user:NAME`, `group:NAME` (each member), `public` (everybody) or `total:NAME` (all members of the
    user group together).
    """

    subject: Annotated[str, Field(pattern=r"^(public|user:.+|group:.+|total:.+)$", max_length=300)]
    group: Annotated[str, Field(max_length=128)] = "training"
    priority: PriorityName
    limit: Annotated[int, Field(ge=0, le=1_000_000)] | None
    #: Up to what users for whom the row counts may raise their own row themselves; null: not at all.
    ceiling: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    #: From then on the row is as if it were not there; null: never.
    expires_at: Annotated[AwareDatetime, AfterValidator(in_range)] | None = None


class OwnQuotaPut(Input):
    """Write one's own row of quota, up to the ceiling that an admin has set."""

    group: Annotated[str, Field(max_length=128)] = "training"
    priority: PriorityName
    limit: Annotated[int, Field(ge=0, le=1_000_000)]


class QuotaKey(Input):
    """Names a row of quota."""

    subject: Annotated[str, Field(max_length=300)]
    group: Annotated[str, Field(max_length=128)] = "training"
    priority: PriorityName


class OwnQuota(Output):
    """What a user may hold at a level, and holds."""

    group: str
    priority: PriorityName
    #: None is no limit.
    limit: int | None
    #: Nodes; k GPUs of a node count as k / GPUs-of-the-node.
    used: float
    #: The row that decides: `user:NAME`, `group:NAME`, `public` or `none`.
    source: str
    #: Up to what he may raise the limit himself (PUT /me/quota); null: not at all.
    ceiling: int | None
    #: When that row runs out; null: never.
    expires_at: datetime | None


class MeOut(Output):
    """Who asks."""

    name: str
    kind: Literal["user", "service"]
    admin: bool
    groups: list[str]
    scopes: list[str]
    quota: list[OwnQuota]
