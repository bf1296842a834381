"""Between JSON and frozen dataclasses, by their annotations.

Reading is lenient where the service may grow: unknown keys are ignored, and a missing key takes the field's
default. It is strict about the shape of what is there.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from datetime import UTC, datetime
from typing import Any, TypeVar

from hai_client.errors import HaiError

T = TypeVar("T")


class WrongShape(HaiError):
    """The service answered with something else than agreed."""

    default_code = "wrong_shape"


@functools.cache
def _fields(kind: type[Any]) -> tuple[tuple[str, Any, bool], ...]:
    hints = typing.get_type_hints(kind)
    return tuple(
        (
            field.name,
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
    )


def decode(kind: type[T], value: Any) -> T:
    """Make a `kind` out of decoded JSON.

    Raises:
        WrongShape: The value does not fit; the message says where.
    """
    made: T = _decode(kind, value, kind.__name__)
    return made


def _decode(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _decode_union(kind, value, where)
    if origin is tuple:
        return tuple(
            _decode(typing.get_args(kind)[0], item, f"{where}[{at}]")
            for at, item in enumerate(_expect(list, value, where))
        )
    if origin is dict:
        inner = typing.get_args(kind)[1]
        return {str(key): _decode(inner, item, f"{where}.{key}") for key, item in _expect(dict, value, where).items()}
    if dataclasses.is_dataclass(kind):
        return _decode_object(kind, value, where)
    if kind is datetime:
        return _decode_time(_expect(str, value, where), where)
    if kind is float:
        return float(_expect((int, float), value, where))
    return _expect(kind, value, where)


def _decode_union(kind: Any, value: Any, where: str) -> Any:
    if value is None:
        return None
    inner = [arg for arg in typing.get_args(kind) if arg is not type(None)]
    # Of several plain types the value says itself which it is.
    fitting = inner[0] if len(inner) == 1 else next((arg for arg in inner if type(value) is arg), inner[0])
    return _decode(fitting, value, where)


def _decode_object(kind: Any, value: Any, where: str) -> Any:
    found = _expect(dict, value, where)
    made: dict[str, Any] = {}
    for name, hint, required in _fields(kind):
        if name in found:
            made[name] = _decode(hint, found[name], f"{where}.{name}")
        elif required:
            raise WrongShape(f"{where}.{name}: the service did not send it; is it of another version?")
    return kind(**made)


def _decode_time(value: str, where: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise WrongShape(f"{where}: the service sent {value!r}, which is not a time") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _expect(kind: Any, value: Any, where: str) -> Any:
    # bool is an int to Python, not to the wire.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise WrongShape(f"{where}: the service sent {value!r:.80}; is it of another version?")
    return value


def encode(value: Any) -> Any:
    """Make JSON-ready values out of dataclasses, times and containers. Times are RFC 3339 in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    return value
