"""The base of the client's groups of REST calls, and the paths of what they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, Union
from urllib.parse import quote

from hai_client.codec import decode
from hai_client.errors import Invalid
from hai_client.http import Query, Transport

#: A task's number, its name, or `user/name` for an admin.
TaskKey = Union[int, str]

T = TypeVar("T")


class Calls:
    """Base class of the groups of calls that make up `Client`: all that a group holds is the transport."""

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


#: Where the names are listed that a field takes.
_LISTS = {
    "task": "`hai list` shows the names",
    "node": "`hai nodes` shows the names",
    "environment": "`hai environments` shows the names",
    "mount": "`hai admin mounts list` shows the names",
    "user": "`hai admin user list` shows the names",
    "run": "`hai admin orphans list` shows the ids",
}


def quoted(text: str, field: str) -> str:
    """Return a name quoted as a part of a URL's path. Raises Invalid for a name that is empty or only dots."""
    # Dots alone would be resolved as steps in the path.
    if not text.strip("."):
        raise Invalid(f"{field}: {text!r} is not a name; {_LISTS[field]}")
    return quote(text, safe="", errors="replace")


def if_match(version: str | None) -> dict[str, str] | None:
    """Return the headers of a change that is refused (`Conflict`) if there is another version by now.

    Args:
        version: The version that was read; None: the change is made in any case.
    """
    return None if version is None else {"If-Match": f'"{version}"'}


def task_path(task: TaskKey, verb: str | None = None) -> str:
    """Return the path of a task, or of a part of it. Raises Invalid for a name that is empty or only dots."""
    path = f"/tasks/{quoted(str(task), 'task')}"
    return f"{path}/{verb}" if verb else path
