"""Label selectors and tolerations, evaluated as Kubernetes does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_KEY = r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?"
_EQUAL: Final = re.compile(rf"\s*(?P<key>{_KEY})\s*(?P<operator>==|=|!=)\s*(?P<values>[A-Za-z0-9._-]*)\s*")
_SET: Final = re.compile(rf"\s*(?P<key>{_KEY})\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)\s*")
_EXISTS: Final = re.compile(rf"\s*(?P<operator>!?)\s*(?P<key>{_KEY})\s*")
_COMMA: Final = re.compile(r",(?![^()]*\))")


class SelectorError(ValueError):
    """A label selector that cannot be read; the message names the part."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One part of a selector: a label must, or must not, have one of `values`. None: it must, or must not, exist."""

    key: str
    wanted: bool
    values: frozenset[str] | None

    def meets(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet the requirement."""
        there = self.key in labels and (self.values is None or labels[self.key] in self.values)
        return there is self.wanted


Selector = tuple[Requirement, ...]


def parse_selector(text: str) -> Selector:
    """Read `a=b,c!=d,e in (f,g),h notin (i),j,!k`. Raises SelectorError."""
    return tuple(_requirement(part) for part in _COMMA.split(text))


def _requirement(part: str) -> Requirement:
    found = _SET.fullmatch(part) or _EQUAL.fullmatch(part)
    if found is not None:
        values = frozenset(value.strip() for value in found["values"].split(","))
        return Requirement(found["key"], found["operator"] in ("=", "==", "in"), values)
    found = _EXISTS.fullmatch(part)
    if found is None:
        raise SelectorError(f"{part.strip()!r} is no part of a label selector; write for example node-pool=a100")
    return Requirement(found["key"], not found["operator"], None)


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether the labels meet every requirement of the selector."""
    return all(part.meets(labels) for part in selector)


def tolerated(taint: Mapping[str, Any], tolerations: Iterable[Mapping[str, Any]]) -> bool:
    """Whether pods with these tolerations may be put on a node with that taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(key) and (toleration.get("value") or "") == (taint.get("value") or "")
