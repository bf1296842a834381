"""One call to the REST interface, and how names become parts of its paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from hai_client.codec import decode
from hai_client.errors import Invalid
from hai_client.http import Query, Transport

T = TypeVar("T")


class Calls:
    """What all groups of calls share."""

    def __init__(self, transport: Transport) -> None:
        self._http = transport

    def _get(
        self,
        kind: type[T],
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        again: bool | None = None,
    ) -> T:
        answer = self._http.call(method, path, query=query, body=body, headers=headers, again=again)
        return decode(kind, answer)


def quoted(text: str, field: str) -> str:
    """A name as a part of a path. Raises Invalid."""
    # Dots alone would be taken for steps in the path.
    if not text.strip("."):
        raise Invalid(f"{field}: {text!r} is not a name; `hai list` and `hai nodes` show the names")
    return quote(text, safe="", errors="replace")
