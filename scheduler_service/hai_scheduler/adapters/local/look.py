"""Reads the folders of runs without changing them, for tools that run while no service does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hai_scheduler.adapters.local.folders import RankFolder, RunFolder
from hai_scheduler.core.model.ids import Origin, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """A run that has a folder."""

    run_id: RunId
    origin: Origin | None
    user: str | None
    #: Node names in rank order.
    nodes: tuple[str, ...]
    #: Whether a supervisor of the run lives.
    live: bool
    path: Path


def look(root: Path) -> Sequence[RunSeen]:
    """Return every run that has a folder. Raises OSError."""
    return [_seen(folder) for folder in RunFolder.all(root.resolve())]


def _seen(folder: RunFolder) -> RunSeen:
    facts = folder.facts()
    live = any(_lives(folder.rank(rank)) for rank in folder.ranks())
    return RunSeen(
        run_id=folder.run_id, origin=facts.origin, user=facts.user, nodes=facts.nodes, live=live, path=folder.path
    )


def _lives(rank: RankFolder) -> bool:
    """Whether the rank's supervisor lives. The lock is tried only where that can do no harm."""
    status = rank.status()
    if status is None:
        return rank.supervisor() is not None
    return status.get("state") != "exited" and rank.supervised()
