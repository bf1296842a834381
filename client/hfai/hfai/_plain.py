"""Walking through lists, tuples and dicts."""

from __future__ import annotations

from typing import Any, Callable


def plain(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """The same value with everything of a kind in it changed; other types of containers are left as they are."""
    if isinstance(value, kind):
        return change(value)
    if type(value) is dict:
        return {key: plain(item, kind, change) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(plain(item, kind, change) for item in value)
    return value
