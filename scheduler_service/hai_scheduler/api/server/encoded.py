"""Answers that are encoded already: many readers get the same bytes, which are made once.

They are compressed for readers who take them so. Only answers without secrets may be: the length of what is compressed
tells of what is in it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pydantic import BaseModel

#: Smaller answers are sent as they are, in bytes.
WORTH_PACKING: Final = 2_000
#: Fast, as most answers are read a few times only; their many equal words become small at any level.
_LEVEL: Final = 1

_Kind = TypeVar("_Kind")


class Encoded:
    """An answer of JSON, as it is sent.

    Args:
        body: The answer.
        packs: Whether it may be compressed: it has no secrets.
    """

    def __init__(self, body: bytes, *, packs: bool = True) -> None:
        self.body = body
        self._packs = packs
        self._packed: bytes | None = None

    @property
    def packed(self) -> bytes | None:
        """The same, compressed; None for one that is too small for that, or may not be compressed."""
        if self._packed is None and self._packs and len(self.body) >= WORTH_PACKING:
            self._packed = gzip.compress(self.body, _LEVEL, mtime=0)
        return self._packed


class SharedAnswers:
    """The latest answers that do not depend on their reader, and parts of others that do not."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, str | None, Encoded]] = {}
        self._parts: dict[type[Any], Any] = {}

    def kept(self, kind: type[_Kind]) -> _Kind:
        """Return the one object of a class that keeps parts of answers; it is made when it is asked for first."""
        if kind not in self._parts:
            self._parts[kind] = kind()
        found: _Kind = self._parts[kind]
        return found

    def of(self, name: str, made_of: object, standstill: str | None, make: Callable[[], BaseModel]) -> Encoded:
        """Return an answer, which is made again only when it is made of something else.

        Args:
            name: Which answer.
            made_of: What it is made of: an object that never changes.
            standstill: Why nothing is decided, which is in the answer too; None: it is decided.
            make: Makes the answer.
        """
        known = self._kept.get(name)
        if known is not None and known[0] is made_of and known[1] == standstill:
            return known[2]
        answer = Encoded(make().model_dump_json().encode())
        self._kept[name] = made_of, standstill, answer
        return answer
