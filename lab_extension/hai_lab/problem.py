"""Problem documents (RFC 9457) for errors of this server extension."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem(Exception):
    """An answer that is an error."""

    status: int  #: The HTTP status.
    code: str  #: The machine-readable word.
    title: str  #: What kind of error it is.
    detail: str  #: One sentence: what is wrong and what to do.

    def document(self) -> dict[str, object]:
        """Return the body, in the form of the platform's own errors."""
        return {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "errors": [],
        }


def invalid(detail: str) -> Problem:
    """Return the problem for a request that is not valid."""
    return Problem(400, "invalid", "Invalid request", detail)


def not_found(detail: str) -> Problem:
    """Return the problem for a file that does not exist."""
    return Problem(404, "not_found", "Not found", detail)


def restarting(detail: str) -> Problem:
    """Return the problem for a platform that is restarting: it has not seen the request, which may be sent again."""
    return Problem(503, "restarting", "HAI is restarting", detail)


def unavailable(detail: str) -> Problem:
    """Return the problem for a platform that cannot be reached."""
    return Problem(503, "unavailable", "HAI is not available", detail)
