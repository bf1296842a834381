"""Compare two sets of Kubernetes objects, without showing the values of Secrets: what would an upgrade change?"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import yaml

Object = dict[str, Any]
#: Kind, namespace and name.
Key = tuple[str, str, str]


class Change(StrEnum):
    """What happens to an object."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An object that changes."""

    kind: str  #: Kind of the object.
    namespace: str  #: Namespace of the object.
    name: str  #: Name of the object.
    change: Change  #: Whether the object is added, changed or removed.
    lines: tuple[str, ...] = ()  #: The changed lines, in the form of `diff -u`.


def differences(before: str | None, after: str, *, namespace: str) -> list[Difference]:
    """Return the objects that change from one manifest to the other.

    Args:
        before: The installed manifest; None: nothing is installed.
        after: The manifest that would be installed.
        namespace: Namespace of objects that name none.
    """
    old, new = objects(before or "", namespace), objects(after, namespace)
    found = []
    for key in sorted({*old, *new}):
        lines = _lines(old.get(key), new.get(key))
        if key not in old or key not in new:
            change = Change.ADDED if key in new else Change.REMOVED
            found.append(Difference(kind=key[0], namespace=key[1], name=key[2], change=change))
        elif lines:
            found.append(Difference(kind=key[0], namespace=key[1], name=key[2], change=Change.CHANGED, lines=lines))
    return found


def objects(manifest: str, namespace: str) -> dict[Key, Object]:
    """Return the objects of a manifest by kind, namespace and name."""
    found = {}
    for entry in yaml.safe_load_all(manifest):
        if isinstance(entry, dict):
            meta = entry["metadata"]
            found[entry["kind"], meta.get("namespace", namespace), meta["name"]] = entry
    return found


def _lines(old: Object | None, new: Object | None) -> tuple[str, ...]:
    if old is None or new is None:
        return ()
    before, after = (yaml.safe_dump(entry, sort_keys=True, width=200).splitlines() for entry in _masked(old, new))
    changed = difflib.unified_diff(before, after, lineterm="", n=1)
    return tuple(line for line in changed if line[:3] not in ("---", "+++"))


def _masked(old: Object, new: Object) -> tuple[Object, Object]:
    """Return both objects with the values of Secrets replaced by words that only tell whether they differ."""
    if new["kind"] != "Secret":
        return old, new
    before, after = _data(old), _data(new)
    words = {name: "(another secret)" if after.get(name) != before.get(name) else "(secret)" for name in after}
    return {**old, "data": dict.fromkeys(before, "(secret)")}, {**new, "data": words}


def _data(entry: Object) -> Mapping[str, Any]:
    return {**(entry.get("data") or {}), **(entry.get("stringData") or {})}
