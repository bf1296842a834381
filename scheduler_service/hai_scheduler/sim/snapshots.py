"""Snapshots in files, so that a plan can be made again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hai_scheduler.core.model.policy import Policies, PolicyError
from hai_scheduler.core.model.snapshot import BrokenSnapshot, Snapshot
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.sim.plain import PlainError, decode, encode

VERSION = 1


class SnapshotError(ValueError):
    """A file cannot be used as a snapshot; the message names file, field, value and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A snapshot, and the policy and discipline of its plan."""

    snapshot: Snapshot
    policies: Policies = field(default_factory=Policies)
    discipline: Discipline = Discipline.HAI


def to_json(recorded: Recorded) -> str:
    """Return the text of a snapshot file."""
    return json.dumps({"hai_snapshot": VERSION, **encode(recorded)}, indent=1) + "\n"


def from_json(text: str) -> Recorded:
    """Read the text of a snapshot file.

    Raises:
        SnapshotError: The text is not a snapshot, or the snapshot contradicts itself.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"it is not JSON ({error})") from None
    if not isinstance(value, dict) or value.pop("hai_snapshot", None) != VERSION:
        raise SnapshotError(f'it is not a snapshot: it must be an object with "hai_snapshot": {VERSION}')
    try:
        recorded: Recorded = decode(Recorded, value)
        _check(recorded.snapshot)
    except (PlainError, PolicyError, BrokenSnapshot) as error:
        raise SnapshotError(str(error)) from None
    return recorded


def read(path: str) -> Recorded:
    """Read a snapshot file. Raises SnapshotError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SnapshotError(f"{path}: cannot be read: {error.strerror or error}; name another file") from None
    except UnicodeDecodeError:
        raise SnapshotError(f"{path}: is not UTF-8 text; name another file") from None
    try:
        return from_json(text)
    except SnapshotError as error:
        raise SnapshotError(f"{path}: {error}") from None


def _check(snapshot: Snapshot) -> None:
    for place, task in enumerate(snapshot.tasks):
        where = f"snapshot.tasks[{place}]"
        _least(f"{where}.nodes", task.nodes)
        _least(f"{where}.gpus", task.gpus)
        if task.live_run is not None and not task.live_run.ranks:
            raise PlainError(f"{where}.run.ranks", [], "a run that has not ended has ranks")
    snapshot.check()


def _least(path: str, value: Any) -> None:
    if value is not None and value < 1:
        raise PlainError(path, value, "write 1 or more")
