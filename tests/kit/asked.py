"""Values of the fields of a submission that need nothing but their definition: a new one changes no test."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hai_scheduler.service.tasks.asked_fields import AskedField, asked_fields


def another(field: AskedField) -> Any:
    """Return a value in JSON that is not the usual one."""
    match field.kind:
        case "flag":
            return not field.default
        case "number" | "length":
            found = field.least or field.most or 1
            return found + 1 if found == field.default and found != field.most else field.most or found + 1
        case "word":
            return next(word for word in field.words if word != field.default)
        case "text":
            return "another"


def in_json() -> dict[str, Any]:
    """Return another value of each of these fields, by its name in JSON."""
    return {field.wire: another(field) for field in asked_fields()}


def in_python() -> dict[str, Any]:
    """Return the same values as the service has them, by their names there."""
    return {
        field.name: timedelta(seconds=value) if field.kind == "length" else value
        for field, value in ((field, another(field)) for field in asked_fields())
    }
