"""Orphaned runs as the store keeps them, in one setting that the tick writes (decision 0016).

So all replicas know them, and a restart does not forget that an admin has asked to end one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.store.transaction import Tx

_SETTING: Final = "orphans"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanedRun:
    """An orphaned run."""

    run_id: RunId
    #: Which database decided the run; None for a run without an origin.
    origin: Origin | None
    #: The user of the run, if the cluster knows it.
    user: str | None
    #: The nodes that the run holds; none once it has ended.
    nodes: tuple[str, ...]
    #: Whether a process of the run is left.
    live: bool
    #: Whether an admin has asked to end the run.
    ending: bool = False
    #: Whether the task with its id is held because of the run, and is released when the run has ended.
    holds_task: bool = False

    @property
    def key(self) -> tuple[RunId, Origin | None]:
        """The key that identifies the run among the runs of all databases."""
        return self.run_id, self.origin


async def read_orphans(tx: Tx) -> tuple[OrphanedRun, ...]:
    """The orphaned runs of the last tick, in the order of the cluster."""
    text = await tx.settings.get(_SETTING)
    return () if text is None else tuple(_of_row(row) for row in json.loads(text))


async def write_orphans(tx: Tx, orphans: Sequence[OrphanedRun]) -> None:
    """Replace the stored orphaned runs."""
    text = json.dumps([_row_of(orphan) for orphan in orphans]) if orphans else None
    if text != await tx.settings.get(_SETTING):
        await tx.settings.put(_SETTING, text)


def held_nodes(orphans: Iterable[OrphanedRun]) -> dict[str, RunId]:
    """The nodes that orphaned runs hold, with the run's id."""
    return {node: orphan.run_id for orphan in orphans for node in orphan.nodes}


def left_alone(orphans: Iterable[OrphanedRun]) -> frozenset[RunId]:
    """The ids of orphaned runs that no admin has asked to end: no effect may use these ids."""
    return frozenset(orphan.run_id for orphan in orphans if not orphan.ending)


def _row_of(orphan: OrphanedRun) -> Mapping[str, Any]:
    return {
        "run": orphan.run_id,
        "origin": None if orphan.origin is None else str(orphan.origin),
        "user": orphan.user,
        "nodes": list(orphan.nodes),
        "live": orphan.live,
        "ending": orphan.ending,
        "holds_task": orphan.holds_task,
    }


def _of_row(row: Mapping[str, Any]) -> OrphanedRun:
    return OrphanedRun(
        run_id=RunId(row["run"]),
        origin=Origin.parse(row["origin"]),
        user=row["user"],
        nodes=tuple(row["nodes"]),
        live=row["live"],
        ending=row["ending"],
        holds_task=row["holds_task"],
    )
