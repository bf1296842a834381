"""The errors of this package as one tree of classes; each has the exit code of the `hai` command."""

from __future__ import annotations

from typing import Any, ClassVar

from hai_client.backports import dataclass
from hai_client.masking import masked


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field of a request."""

    field: str
    value: Any
    message: str


class HaiError(Exception):
    """Something went wrong; the base of every error that this package raises.

    Attributes:
        message: One sentence that names the field, the value and the remedy, without secrets.
        code: The service's machine-readable name of the error.
        status: The HTTP status, or None when no answer came or none was asked for.
        fields: What is wrong with single fields, where the service said so.
        retry_after_s: How long the platform asks to wait before the next try, seconds; None where it said nothing.
    """

    #: The exit status of the `hai` command: 1 is "something went wrong on the other side".
    exit_code: ClassVar[int] = 1
    default_code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        fields: tuple[FieldProblem, ...] = (),
        retry_after_s: float | None = None,
    ) -> None:
        # It may quote what a user or a program has given.
        message = masked(message)
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.status = status
        self.fields = fields
        self.retry_after_s = retry_after_s


class Invalid(HaiError):
    """The input is wrong."""

    exit_code = 2
    default_code = "invalid"


class NotLoggedIn(HaiError):
    """No token is set, or the platform does not accept it."""

    exit_code = 3
    default_code = "unauthorized"


class Forbidden(HaiError):
    """The token is good but does not allow this."""

    exit_code = 3
    default_code = "forbidden"


class NotFound(HaiError):
    """There is no such task, node, run or quota row, or it is not the caller's to see."""

    exit_code = 2
    default_code = "not_found"


class Conflict(HaiError):
    """The task, or other object of the request, is in a state in which this cannot be done."""

    exit_code = 2
    default_code = "conflict"


class QuotaExceeded(HaiError):
    """The task asks for more than its owner may ever hold, or than the node group has."""

    exit_code = 2
    default_code = "quota"


class Unavailable(HaiError):
    """The platform cannot be reached, cannot serve now, or refuses too many requests at once (429)."""

    exit_code = 4
    default_code = "unavailable"


BY_CODE: dict[str, type[HaiError]] = {
    "invalid": Invalid,
    "too_large": Invalid,
    "unauthorized": NotLoggedIn,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "version": Invalid,
    "conflict": Conflict,
    "quota": QuotaExceeded,
    "unavailable": Unavailable,
    "restarting": Unavailable,
    "too_many": Unavailable,
}

BY_STATUS: dict[int, type[HaiError]] = {
    400: Invalid,
    401: NotLoggedIn,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: NotFound,
    413: Invalid,
    422: QuotaExceeded,
    429: Unavailable,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def kind_of(status: int, code: str | None = None) -> type[HaiError]:
    """Return the class of error for an answer.

    Args:
        status: The HTTP status.
        code: The `code` of the problem document; it wins over the status where it is known.

    Returns:
        The class to raise. Unknown 4xx are `Invalid`, anything else is `HaiError`.
    """
    if code in BY_CODE:
        return BY_CODE[code]
    if status in BY_STATUS:
        return BY_STATUS[status]
    return Invalid if 400 <= status < 500 else HaiError
