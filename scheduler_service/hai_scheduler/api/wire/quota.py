"""Models of quota, and of the caller with their quota."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field

from hai_scheduler.api.wire.base import Input, LevelName, Output, in_range
from hai_scheduler.api.wire.identities import IdentityOut
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.service.shared.sent_as import LEVEL


class QuotaOut(Output):
    """A row of quota. `limit` null is no limit."""

    subject: str
    group: str
    priority: LevelName
    limit: int | None
    #: The highest limit to which users for whom the row counts may raise their own row; null: they may not.
    ceiling: int | None
    #: From this time on the row does not count; null: it does not expire.
    expires_at: datetime | None
    #: Whether that time has come. Admins see such rows for 30 days.
    expired: bool
    #: Sent back in `If-Match`, it makes a change fail if the row has changed in the meantime.
    version: str = ""
    #: In the answer to a change: a warning, if the row is probably a mistake.
    warning: str | None = None


class QuotaList(Output):
    """Rows of quota."""

    items: list[QuotaOut]


class QuotaPut(Input):
    """Write a row of quota as a whole; `limit` null is no limit.

    `subject` is `user:NAME`, `group:NAME` (each member of the user group), `public` (each user) or `total:NAME` (all
    members of the user group together).
    """

    subject: Annotated[str, Field(pattern=r"^(public|user:.+|group:.+|total:.+)$", max_length=300)]
    group: Annotated[str, Field(max_length=128)] = "training"
    priority: Annotated[Priority, LEVEL]
    limit: Annotated[int, Field(ge=0, le=1_000_000)] | None
    #: The highest limit to which users for whom the row counts may raise their own row; null: they may not.
    ceiling: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    #: From this time on the row does not count; null: it does not expire.
    expires_at: Annotated[AwareDatetime, AfterValidator(in_range)] | None = None


class OwnQuotaPut(Input):
    """Write the caller's own row of quota, up to the ceiling that an admin has set."""

    group: Annotated[str, Field(max_length=128)] = "training"
    priority: Annotated[Priority, LEVEL]
    limit: Annotated[int, Field(ge=0, le=1_000_000)]


class QuotaKey(Input):
    """The key of a row of quota."""

    subject: Annotated[str, Field(max_length=300)]
    group: Annotated[str, Field(max_length=128)] = "training"
    priority: Annotated[Priority, LEVEL]


class OwnQuota(Output):
    """How much a user may hold at a level, and how much the user holds."""

    group: str
    priority: LevelName
    #: The limit in nodes; null: no limit.
    limit: int | None
    #: Nodes that the user holds; k GPUs of a node count as k / GPUs-of-the-node.
    used: float
    #: The row that gives the limit: `user:NAME`, `group:NAME`, `public` or `none`.
    source: str
    #: The highest limit to which users may raise it themselves (PUT /me/quota); null: they may not.
    ceiling: int | None
    #: When that row expires; null: never.
    expires_at: datetime | None


class UserQuota(OwnQuota):
    """What a user may hold and holds at a level."""

    #: The limit of the row `user:NAME` itself; null: it has no limit, or there is no such row.
    own_limit: int | None
    #: The version of the row `user:NAME`, for `If-Match`; null: there is none, and `If-None-Match: *` writes the first.
    own_version: str | None


class MeOut(Output):
    """The user or service that asks."""

    name: str
    kind: Literal["user", "service"]
    admin: bool
    groups: list[str]
    scopes: list[str]
    quota: list[OwnQuota]
    #: Who the caller's processes are; null: the platform's one account, or nobody.
    identity: IdentityOut | None = None
    #: Why nothing of the caller starts; empty: it does.
    no_identity: str = ""
