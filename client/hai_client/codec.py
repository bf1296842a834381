"""Conversion between JSON and frozen dataclasses, by their annotations.

Reading is lenient where a newer service may have added something: unknown keys are ignored, and a missing key takes
the field's default. It is strict about the types of known keys.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from datetime import datetime
from typing import Any, TypeVar

from hai_client.annotations import Either, Maybe, Several, Table, kinds
from hai_client.backports import UTC
from hai_client.errors import HaiError

T = TypeVar("T")


class WrongShape(HaiError):
    """The service's answer does not have the agreed form."""

    default_code = "wrong_shape"


@functools.lru_cache(maxsize=None)
def _fields(kind: type[Any]) -> tuple[tuple[str, Any, bool], ...]:
    hints = kinds(kind)
    return tuple(
        (
            field.name,
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
    )


def decode(kind: type[T], value: Any) -> T:
    """Make a `kind` out of decoded JSON. Raises WrongShape: the value does not fit; the message names the place."""
    made: T = _decode(kind, value, kind.__name__)
    return made


def _decode(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    if isinstance(kind, Maybe):
        return None if value is None else _decode(kind.of, value, where)
    if isinstance(kind, Either):
        return _decode(next((one for one in kind.kinds if type(value) is one), kind.kinds[0]), value, where)
    if isinstance(kind, Several):
        return tuple(_decode(kind.of, item, f"{where}[{at}]") for at, item in enumerate(_expect(list, value, where)))
    if isinstance(kind, Table):
        found = _expect(dict, value, where)
        return {str(key): _decode(kind.of, item, f"{where}.{key}") for key, item in found.items()}
    if dataclasses.is_dataclass(kind):
        return _decode_object(kind, value, where)
    if kind is datetime:
        return _decode_time(_expect(str, value, where), where)
    if kind is float:
        return float(_expect((int, float), value, where))
    return _expect(kind, value, where)


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
        time = parse_time(value)
    except ValueError:
        raise WrongShape(f"{where}: the service sent {value!r}, which is not a time") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def parse_time(text: str) -> datetime:
    """Read an RFC 3339 time. Raises ValueError."""
    # Pythons before 3.11 read neither Z nor fractions of other than 3 or 6 digits: cut or pad them to 6 digits.
    text = re.sub(r"[zZ]$", "+00:00", text)
    return datetime.fromisoformat(re.sub(r"\.(\d+)", lambda found: f".{found[1][:6]:0<6}", text, count=1))


def _expect(kind: Any, value: Any, where: str) -> Any:
    # bool is an int in Python, but not in JSON.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise WrongShape(f"{where}: the service sent {value!r:.80}; is it of another version?")
    return value


def encode(value: Any) -> Any:
    """Return dataclasses, times and containers as values for JSON. Times are RFC 3339 in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    return value
