"""Problem documents (RFC 9457)."""

from __future__ import annotations

from typing import Any

from hai_scheduler.api.wire.base import (
    Output,
)


class Problem(Output):
    """An error (RFC 9457, `application/problem+json`)."""

    type: str = "about:blank"
    title: str
    status: int
    #: What is wrong and what to do, in one sentence.
    detail: str
    #: Machine-readable code: invalid, not_found, forbidden, unauthorized, conflict, quota, too_large, unavailable;
    #: also gone (410), method_not_allowed (405), unsupported_media_type (415), too_many (429), internal (500).
    code: str
    errors: list[FieldError] = []


class CollisionProblem(Problem):
    """A refused change of something that somebody else has changed in the meantime (409)."""

    #: What is there now, as reading it shows it; null: nothing is.
    current: Any


class FieldError(Output):
    """An error in one field."""

    field: str
    value: Any = None
    message: str
