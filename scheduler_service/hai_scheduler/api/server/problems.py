"""Errors as problem documents (RFC 9457): the only place that maps errors to HTTP statuses."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from tornado.web import HTTPError

from hai_client.masking import masked
from hai_scheduler.api.wire.problem import CollisionProblem, FieldError, Problem
from hai_scheduler.ports.errors import Absent, Temporary, WriteConflict
from hai_scheduler.service.shared.errors import HaiError, Invalid, Overtaken
from hai_scheduler.service.tasks.experiments import InvalidExperiment

CONTENT_TYPE: Final = "application/problem+json"

#: The most faults of a body that are looked at: each costs some microseconds, and a body may be nothing but faults.
MOST_ERRORS: Final = 1000
#: The most characters of a sentence, and of a value that may be repeated in part.
MOST_TOLD: Final = 4000
MOST_LOOKED_AT: Final = 1000
#: Status and title of every code that an answer can have.
CODES: Final[Mapping[str, tuple[int, str]]] = {
    "invalid": (400, "The request is wrong"),
    "unauthorized": (401, "Who asks is not known"),
    "forbidden": (403, "Not allowed"),
    "not_found": (404, "There is no such thing"),
    "method_not_allowed": (405, "Not with this method"),
    "version": (406, "The versions do not fit"),
    "conflict": (409, "It cannot be done now"),
    "gone": (410, "It is over"),
    "too_large": (413, "The request is too large"),
    "unsupported_media_type": (415, "The body is of the wrong kind"),
    "quota": (422, "It can never fit"),
    "too_many": (429, "Too many at once"),
    "internal": (500, "Something went wrong on our side"),
    "unavailable": (503, "It cannot be done for now"),
}

_OF_STATUS: Final = {status: code for code, (status, _) in CODES.items()}

DISK_FULL: Final = "The platform's disk is full, so nothing was changed: free space on it, then try again."


@dataclass(slots=True)
class Refused(Exception):
    """The REST interface itself refuses a request; `code` is one of CODES."""

    code: str
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.detail


def unauthorized(detail: str) -> Refused:
    """Return the refusal of a request whose caller is not known (401)."""
    return Refused("unauthorized", detail, {"WWW-Authenticate": 'Bearer realm="hai"'})


def problem_of(error: BaseException) -> Problem | None:
    """Return the problem document of an error; None for an internal error."""
    match error:
        case Refused():
            return make(error.code, error.detail)
        case InvalidExperiment():
            return _invalid([_field(fault.field, fault.value, fault.message) for fault in error.faults])
        case Invalid():
            return _invalid([_field(error.field, error.value, error.message)])
        case HaiError():
            return _of_ours(error)
        case ValidationError():
            return _of_validation(error)
        case WriteConflict():
            return make("conflict", "Another request changed it at the same moment: read it again and try again.")
        case Absent():
            return make("not_found", "There is no such thing.")
        case Temporary():
            return make("unavailable", _of_temporary(error))
        case HTTPError():
            return _of_tornado(error)
    return None


def _of_validation(error: ValidationError) -> Problem:
    """Return the problem document of what pydantic has found, of which there may be as much as a body is long."""
    count = error.error_count()
    if count > MOST_ERRORS:
        return make("invalid", f"This has {count} faults: is it meant for another request?")
    return _invalid([_of_pydantic(one) for one in error.errors(include_url=False)])


def _of_ours(error: HaiError) -> Problem | None:
    if error.code not in CODES:
        return None
    problem = make(error.code, str(error))
    return CollisionProblem(**dict(problem), current=error.shown) if isinstance(error, Overtaken) else problem


def _of_temporary(error: Temporary) -> str:
    """Return a sentence on the error that shows no internals of the platform."""
    cause = str(error).lower()
    if "no space left" in cause or "disk is full" in cause:
        return DISK_FULL
    if "read-only" in cause or "readonly" in cause:
        return "The platform's database takes no changes now, so nothing was changed: try again in a moment."
    return "The cluster or the database cannot do it now: try again in a moment."


def incident() -> tuple[str, Problem]:
    """Return the id of an internal error, under which the log has the cause, and its problem document."""
    name = secrets.token_hex(6)
    return name, make("internal", f"This is a fault of the platform: tell an admin the incident {name}.")


def make(code: str, detail: str, errors: Sequence[FieldError] = ()) -> Problem:
    """Return the problem document of a code."""
    status, title = CODES[code]
    return Problem(title=title, status=status, detail=_told(detail), code=code, errors=list(errors))


def gone(error: HaiError) -> Refused:
    """Return the refusal of a request of a run that has ended: 410, because no later try can succeed."""
    return Refused("gone", str(error))


def _invalid(errors: list[FieldError]) -> Problem:
    said = "; ".join(f"{one.field}: {one.message}" if one.field else one.message for one in errors[:5])
    more = f"; and {len(errors) - 5} more" if len(errors) > 5 else ""
    return make("invalid", said + more, errors[:100])


def _of_tornado(error: HTTPError) -> Problem | None:
    code = _OF_STATUS.get(error.status_code)
    if code is None and 400 <= error.status_code < 500:
        code = "invalid"
    if code is None or code == "internal":
        return None
    # log_message may quote the request: only the title of the status is shown.
    return make(code, f"{CODES[code][1]}.")


def _field(name: str, value: Any, message: str) -> FieldError:
    return FieldError(field=name, value=_shown(name, value), message=_told(message))


def _told(text: str) -> str:
    """Return a sentence without secrets. One that quotes a long value is cut: it would take long to look at."""
    return masked(text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]}…")


def _shown(name: str, value: Any) -> Any:
    """Return a value if it is short enough for an answer. Values of variables may be secrets and are left out."""
    if name.startswith(("env.", "env[", "variables.", "spec.environments.")):
        return None
    if isinstance(value, str):
        if len(value) > MOST_LOOKED_AT:
            return None
        value = masked(value)
        return value if len(value) <= 200 else f"{value[:200]}…"
    if value is None or isinstance(value, bool | int | float):
        return value if len(str(value)) <= 200 else None
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        return None
    return value if len(text) <= 200 and masked(text) == text and name not in ("env", "variables") else None


def _of_pydantic(error: ErrorDetails) -> FieldError:
    name = ""
    for part in error["loc"]:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else str(part)
    kind = error["type"]
    if kind == "nul":
        name = str(error["ctx"]["field"])
        return _field(name, None, error["msg"])
    value = None if kind in ("missing", "json_invalid") or not name else error["input"]
    message = _message(kind, error.get("ctx", {}), error["msg"])
    said = "" if kind == "extra_forbidden" else _said(_shown(name, value))
    return _field(name, value, said + message)


def _said(value: Any) -> str:
    """Return a value as the beginning of a sentence on it; empty for a value that is long or not simple."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | int | float) else ""
    return f"{text} " if 0 < len(text) <= 60 else ""


def _message(kind: str, ctx: Mapping[str, Any], fallback: str) -> str:
    sentence = _SENTENCES.get(kind)
    if sentence is None:
        return fallback[:1].lower() + fallback[1:]
    return sentence.format_map({key: str(value) for key, value in ctx.items()})


#: Sentences for the errors that pydantic finds. Placeholders are pydantic's.
_SENTENCES: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not known here: check the spelling, or leave it out",
    "json_invalid": "this is not JSON: {error}",
    "json_type": "this is not JSON",
    "model_type": "must be a JSON object",
    "model_attributes_type": "must be a JSON object",
    "string_type": "must be a text in quotes",
    "string_too_long": "is too long: at most {max_length} characters",
    "string_too_short": "is too short: at least {min_length} characters",
    "string_pattern_mismatch": "does not have the form {pattern}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object with names and values",
    "too_short": "needs at least {min_length} entries",
    "too_long": "has too many entries: at most {max_length}",
    "literal_error": "must be one of {expected}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "value_error": "{error}",
    "timezone_aware": "must say how far it is from UTC, as 2026-11-21T04:00:00Z does",
    "datetime_type": "must be a time as 2026-11-21T04:00:00Z",
    "datetime_parsing": "must be a time as 2026-11-21T04:00:00Z",
    "datetime_from_date_parsing": "must be a time as 2026-11-21T04:00:00Z",
}
