"""Models of the audit: who changed what."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from hai_scheduler.api.wire.base import MAX_NUMBER, Input, Moment, Output

_Word = Annotated[str, Field(min_length=1, max_length=300)]


class AuditQuery(Input):
    """Which entries of the audit."""

    #: The name of the user who did it.
    who: _Word | None = None
    #: An action such as `quota.put`, or a family of them such as `quota`.
    action: _Word | None = None
    #: What was changed, such as `user:ann`, `node:node-3`, `task:41`, or a kind of it such as `node`.
    subject: _Word | None = None
    #: From this time on.
    since: Moment | None = None
    #: Before this time.
    until: Moment | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    #: `next_cursor` of the page before.
    cursor: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None


class AuditEntryOut(Output):
    """One action of an admin, or of a user on their own quota."""

    number: int
    at: datetime
    #: Who did it.
    actor: str
    action: str
    #: What was changed: its kind, a colon and its name.
    subject: str
    #: What was there before, and is there now, without secrets and long values; null: there was or is nothing.
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    #: The address that the request came from; null: not known.
    address: str | None


class AuditPage(Output):
    """A page of the audit, newest first."""

    items: list[AuditEntryOut]
    #: null: this is the last page.
    next_cursor: int | None
