"""Writes values as JSON and reads them back without loss: the orders to a worker process, and its answers.

Only listed classes are read, so that a message cannot create any other object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

#: The key with the class of a JSON object; its value is under `_OF`.
_KIND: Final = "$"
_OF: Final = "of"
_AS_IT_IS: Final = frozenset({str, int, float, bool, type(None)})
_MICROSECOND: Final = timedelta(microseconds=1)


class Plain:
    """Writes and reads values made of these classes, JSON's own, times, lengths of time, sets and mappings.

    Lists and tuples both become tuples.

    Args:
        kinds: Dataclasses and enumerations, with names that differ.
    """

    def __init__(self, *kinds: type) -> None:
        self._kinds = {kind.__name__: kind for kind in kinds}
        self._fields = {
            kind: tuple(field.name for field in fields(kind) if field.init) for kind in kinds if is_dataclass(kind)
        }

    @property
    def kinds(self) -> tuple[type, ...]:
        """The listed classes."""
        return tuple(self._kinds.values())

    def write(self, value: object) -> bytes:
        """The value as JSON, in ASCII. Raises TypeError for a value of an unlisted class."""
        return json.dumps(self._down(value), separators=(",", ":")).encode("ascii")

    def read(self, data: bytes) -> Any:
        """The value of `data`. Raises ValueError if `write` has not written it."""
        try:
            return self._up(json.loads(data))
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no value of ours: {type(error).__name__} {error}") from error

    def _down(self, value: Any) -> Any:
        kind = type(value)
        if kind in _AS_IT_IS:
            return value
        if kind is tuple or kind is list:
            return [self._down(one) for one in value]
        names = self._fields.get(kind)
        if names is not None:
            return {_KIND: kind.__name__, _OF: [self._down(getattr(value, name)) for name in names]}
        if kind is datetime:
            return {_KIND: "at", _OF: value.isoformat()}
        if kind is timedelta:
            return {_KIND: "span", _OF: value // _MICROSECOND}
        if isinstance(value, Enum) and self._kinds.get(kind.__name__) is kind:
            return {_KIND: kind.__name__, _OF: value.value}
        if isinstance(value, str):
            return str(value)  # a subclass of str: its class carries no data
        if isinstance(value, frozenset | set):
            return {_KIND: "set", _OF: [self._down(one) for one in value]}
        if isinstance(value, Mapping):
            return {_KIND: "map", _OF: [[self._down(key), self._down(one)] for key, one in value.items()]}
        raise TypeError(f"a value of {kind.__name__} cannot be sent")

    def _up(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple([self._up(one) for one in value])
        if not isinstance(value, dict):
            return value
        name, of = value[_KIND], value[_OF]
        match name:
            case "at":
                return datetime.fromisoformat(of)
            case "span":
                return of * _MICROSECOND
            case "set":
                return frozenset([self._up(one) for one in of])
            case "map":
                return {self._up(key): self._up(one) for key, one in of}
        kind = self._kinds[name]
        names = self._fields.get(kind)
        if names is None:
            return kind(of)
        return kind(**{name: self._up(one) for name, one in zip(names, of, strict=True)})
