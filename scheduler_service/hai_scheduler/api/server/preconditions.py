"""Headers by which a client says what it expects to change, and the answer if that is not there (decision 0037)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from hai_scheduler.service.shared.errors import Invalid, Overtaken
from hai_scheduler.service.shared.versions import ANY, Expectation

#: For the routes that heed them.
HEADERS: Final[Mapping[str, str]] = {
    "If-Match": "The `version` that was read, in quotation marks: if there is another one now, nothing is changed, and "
    "the answer (409) has in `current` what is there. `*`: there must be one.",
    "If-None-Match": "`*`: there must be none yet.",
}

_VERSION: Final = re.compile(r'(?:W/)?"([0-9a-f]{16})"|([0-9a-f]{16})')

_T = TypeVar("_T")


def expectation(headers: Mapping[str, str]) -> Expectation:
    """Return what a request expects to change. Raises Invalid for a header that is not understood."""
    wanted, unwanted = headers.get("If-Match"), headers.get("If-None-Match")
    if wanted is None and unwanted is None:
        return ANY
    if wanted is not None and unwanted is not None:
        raise Invalid("If-None-Match", unwanted, "cannot be together with If-Match: send one of them")
    if wanted is None:
        if unwanted != "*":
            raise Invalid("If-None-Match", unwanted, "can only be *")
        return Expectation(exists=False)
    if wanted.strip() == "*":
        return Expectation(exists=True)
    match = _VERSION.fullmatch(wanted.strip())
    if match is None:
        raise Invalid("If-Match", wanted, 'is not a version: send "version" of what you have read, in quotation marks')
    return Expectation(version=match.group(1) or match.group(2))


async def showing(change: Awaitable[_T], show: Callable[[Any], BaseModel]) -> _T:
    """Await a change. If it raises Overtaken, add what is there now, as `show` returns it."""
    try:
        return await change
    except Overtaken as error:
        if error.current is not None:
            error.shown = show(error.current).model_dump(mode="json")
        raise
