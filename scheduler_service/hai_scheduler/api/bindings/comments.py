"""Reads the `#:` comments above the fields of a model, so that the OpenAPI document says what the code says."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from functools import cache

from pydantic import BaseModel

from hai_scheduler.service.shared.sent_as import fields_of

_COMMENT = re.compile(r"    #: ?(.*)")
_FIELD = re.compile(r"    (\w+):")


@cache
def comments_of(model: type) -> dict[str, str]:
    """Return the comment of each field that has one, by its name in JSON; fields of base classes included."""
    if is_dataclass(model):
        own = _own_comments(model)
        return {
            one.wire: re.sub(r"\bNone\b", "null", own[name]) for name, one in fields_of(model).items() if name in own
        }
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _own_comments(base)
    return found


def _own_comments(model: type) -> dict[str, str]:
    found: dict[str, str] = {}
    waiting: list[str] = []
    for line in inspect.getsource(model).splitlines():
        if comment := _COMMENT.fullmatch(line):
            waiting.append(comment.group(1))
            continue
        if (name := _FIELD.match(line)) and waiting:
            found[name.group(1)] = " ".join(waiting)
        waiting = []
    return found
