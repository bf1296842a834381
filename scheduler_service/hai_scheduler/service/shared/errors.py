"""Errors that a user may see. The interface maps `code` to a status in one place (api/server/problems.py)."""

from __future__ import annotations

from typing import Any, ClassVar


class HaiError(Exception):
    """Something is wrong that the user can understand. The message says what, and what to do."""

    code: ClassVar[str] = "error"


class Invalid(HaiError):
    """A field of the request is wrong."""

    code = "invalid"

    def __init__(self, field: str, value: Any, message: str) -> None:
        super().__init__(f"{field}: {message}")
        #: Name of the field as the user wrote it.
        self.field = field
        #: What was given.
        self.value = value
        #: What is wrong and what to do, without the field's name.
        self.message = message


class NotFound(HaiError):
    """The task, node or run does not exist, or the caller may not see it."""

    code = "not_found"


class Forbidden(HaiError):
    """The caller lacks the right."""

    code = "forbidden"


class Conflict(HaiError):
    """The state of the task, or another change at the same time, does not allow the request now."""

    code = "conflict"


class Overtaken(Conflict):
    """Somebody else has changed the thing since the caller read it."""

    def __init__(self, message: str, current: object | None) -> None:
        super().__init__(message)
        #: What is there now; None: nothing is.
        self.current = current
        #: The same as the interface shows it, which only the interface knows.
        self.shown: Any = None


class QuotaExceeded(HaiError):
    """The task is larger than what its user may ever hold (Q5)."""

    code = "quota"


class Unavailable(HaiError):
    """The service cannot carry out the request now."""

    code = "unavailable"


class TooMany(HaiError):
    """The user has more requests than the platform serves for one user at a time."""

    code = "too_many"

    def __init__(self, message: str, *, retry_after: int = 60) -> None:
        super().__init__(message)
        #: When to try again, in seconds.
        self.retry_after = retry_after


class TooCostly(HaiError):
    """To compute the answer takes more time or memory than one request may use."""

    code = "too_large"
