"""Versions of things that admins change, so that two changes at the same time are told and not lost (decision 0037).

A version is a digest of the thing itself. It needs no column and no count, all stores have the same one, and a thing
that was changed and changed back has its former version: nothing was lost then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from hai_scheduler.service.shared.errors import Overtaken

_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a change expects to find. Without one, a change is made in any case."""

    #: The version that the client has read; None: any.
    version: str | None = None
    #: True: there must be such a thing already. False: there must be none. None: either.
    exists: bool | None = None

    def check(self, what: str, current: object | None) -> None:
        """Raise Overtaken unless the present thing is the expected one.

        Args:
            what: The thing in a sentence: `The quota row of user:ann at HIGH in group 'training'`.
            current: The thing as it is stored now; None: there is none.
        """
        if self.exists is False and current is not None:
            raise Overtaken(f"{what} exists already: look at it, then send its version in If-Match.", current)
        if self.exists is True and current is None:
            raise Overtaken(f"{what} does not exist any more: somebody has removed it.", None)
        if self.version is None or (current is not None and version_of(current) == self.version):
            return
        if current is None:
            raise Overtaken(f"{what} was removed since you read it: decide whether to write it again.", None)
        raise Overtaken(f"{what} has changed since you read it: look at what is there now, then try again.", current)


#: A change that is made in any case.
ANY: Final = Expectation()


def version_of(thing: object) -> str:
    """Return the version of a thing: 16 hexadecimal digits of a digest of all its fields."""
    text = json.dumps(_plain(thing), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _plain(value: Any) -> Any:
    """Return a value as JSON values, the same for the same value in every process."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
