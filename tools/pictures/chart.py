"""What a picture shows, as data: who held which nodes when, at which level, and who waited. Times are seconds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of one run in which nothing changes."""

    task: str
    #: The row of the lower part that it stands in.
    row: str
    nodes: tuple[str, ...]
    #: `start` (nodes given, nothing computed yet), `work`, or `save` (told to leave).
    kind: str
    level: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A stretch in which a task waited."""

    row: str
    begin: float
    end: float
    #: From when it counted as level 0 because it had waited too long (O2).
    starving: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """A run that was told to leave."""

    row: str
    nodes: tuple[str, ...]
    notice: float
    deadline: float
    end: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Nodes that plans kept for the head of the queue (B1), and when it could start as they said."""

    row: str
    nodes: tuple[str, ...]
    begin: float
    end: float
    promised: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """All of it."""

    title: str
    nodes: tuple[str, ...]
    rows: tuple[str, ...]
    until: float
    spans: tuple[Span, ...]
    waits: tuple[Wait, ...]
    leaves: tuple[Leave, ...]
    kept: tuple[Kept, ...]
    #: Whether deadlines of notices are drawn.
    deadlines: bool

    @property
    def digest(self) -> str:
        """What stands in the picture's description, so that a picture and its data cannot part."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()[:16]

    def as_json(self) -> dict[str, Any]:
        """As JSON holds it: lists, no tuples."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        for name in ("spans", "leaves", "kept"):
            plain[name] = [{**one, "nodes": list(one["nodes"])} for one in plain[name]]
        return plain
