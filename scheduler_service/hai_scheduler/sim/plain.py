"""Converts values of the core to JSON and back by their types; errors name the path of the value."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum, IntEnum
from functools import cache
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints


class PlainError(ValueError):
    """A value does not fit its type; the message names path, value and remedy."""

    def __init__(self, path: str, value: object, remedy: str) -> None:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        super().__init__(f"{path or 'the file'} is {shown}: {remedy}")
        self.path = path


def encode(value: Any) -> Any:
    """Return a value for JSON: times as ISO texts, lengths of time in seconds, priorities by name, sets sorted."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): encode(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(encode(one) for one in value)
    return [encode(one) for one in value] if isinstance(value, tuple | list) else value


def decode(kind: Any, value: Any, path: str = "") -> Any:
    """Read a value of that type from JSON. Fields that are left out have their defaults. Raises PlainError.

    Args:
        kind: The type.
        value: What `json.loads` returned.
        path: Where the value is, for messages.
    """
    origin = get_origin(kind)
    if isinstance(kind, NewType):
        return decode(kind.__supertype__, value, path)
    if origin in (Union, types.UnionType):
        return _optional(kind, value, path)
    if origin is not None:
        return _collection(origin, get_args(kind), value, path)
    if dataclasses.is_dataclass(kind):
        return _object(kind, value, path)
    return _scalar(kind, value, path)


def _optional(kind: Any, value: Any, path: str) -> Any:
    if value is None:
        return None
    (inner,) = [one for one in get_args(kind) if one is not types.NoneType]
    return decode(inner, value, path)


def _collection(origin: Any, inner: tuple[Any, ...], value: Any, path: str) -> Any:
    if issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise PlainError(path, value, "write an object")
        key = decode_key(inner[0])
        return {key(name, path): decode(inner[1], one, f"{path}.{name}") for name, one in value.items()}
    if not isinstance(value, list):
        raise PlainError(path, value, "write a list")
    return origin(decode(inner[0], one, f"{path}[{place}]") for place, one in enumerate(value))


def decode_key(kind: Any) -> Any:
    """Return a function that reads the key of a JSON object, which is always a text, as the type `kind`."""
    base = kind.__supertype__ if isinstance(kind, NewType) else kind

    def read(name: str, path: str) -> Any:
        if base is not int:
            return name
        try:
            return int(name)
        except ValueError:
            raise PlainError(path, name, "write numbers as keys") from None

    return read


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _object(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise PlainError(path, value, "write an object")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    dot = f"{path}." if path else ""
    for name in value:
        if name not in fields:
            raise PlainError(f"{dot}{name}", value[name], f"it is unknown here; known are {', '.join(fields)}")
    for name, field in fields.items():
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and name not in value:
            raise PlainError(f"{dot}{name}", None, "it must be there")
    return kind(**{name: decode(_hints(kind)[name], one, f"{dot}{name}") for name, one in value.items()})


def _scalar(kind: Any, value: Any, path: str) -> Any:
    if issubclass(kind, Enum):
        return _member(kind, value, path)
    if kind is datetime:
        return _time(value, path)
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind is timedelta:
        if not number or abs(value) > 1e10:
            raise PlainError(path, value, "write a length of time in seconds")
        return timedelta(seconds=value)
    if kind is float and number:
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
        raise PlainError(path, value, f"write {names[kind]}")
    return value


def _member(kind: type[Enum], value: Any, path: str) -> Any:
    known = {encode(member): member for member in kind}
    if not isinstance(value, str) or value not in known:
        raise PlainError(path, value, f"write {', '.join(known)}")
    return known[value]


def _time(value: Any, path: str) -> datetime:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None:
        raise PlainError(path, value, "write a time like 2026-01-05T08:00:00Z")
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
