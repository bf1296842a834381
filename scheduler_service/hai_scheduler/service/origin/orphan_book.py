"""Runs that belong to no task of the database, as the store keeps them: one setting, written by the tick.

So every replica knows them, and what an admin has asked of one is not forgotten (decision 0016).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.ports.store import Tx

_SETTING: Final = "orphans"


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """One such run."""

    run_id: RunId
    #: Who decided it; None where nobody has written that down.
    origin: Origin | None
    #: Whose it is, as far as the cluster knows.
    user: str | None
    #: The nodes that it holds; none once it has ended.
    nodes: tuple[str, ...]
    #: Whether anything of it is left.
    live: bool
    #: Whether an admin has asked for its end.
    ending: bool = False
    #: Whether the task with its id was held because of it, and is to be released when it has ended.
    holds_task: bool = False

    @property
    def key(self) -> tuple[RunId, Origin | None]:
        """What tells it from every other run, of whatever database."""
        return self.run_id, self.origin


async def read_orphans(tx: Tx) -> tuple[Orphan, ...]:
    """What the last tick has written, in the order of the cluster."""
    text = await tx.setting(_SETTING)
    return () if text is None else tuple(_of_row(row) for row in json.loads(text))


async def write_orphans(tx: Tx, orphans: Sequence[Orphan]) -> None:
    """Keep them instead of those that are kept."""
    text = json.dumps([_row_of(orphan) for orphan in orphans]) if orphans else None
    if text != await tx.setting(_SETTING):
        await tx.put_setting(_SETTING, text)


def held_nodes(orphans: Iterable[Orphan]) -> dict[str, RunId]:
    """The nodes that such runs hold."""
    return {node: orphan.run_id for orphan in orphans for node in orphan.nodes}


def left_alone(orphans: Iterable[Orphan]) -> frozenset[RunId]:
    """The ids by which nothing may be done: clusters go by ids, and those are of runs whose end no admin has asked."""
    return frozenset(orphan.run_id for orphan in orphans if not orphan.ending)


def _row_of(orphan: Orphan) -> Mapping[str, Any]:
    return {
        "run": orphan.run_id,
        "origin": None if orphan.origin is None else str(orphan.origin),
        "user": orphan.user,
        "nodes": list(orphan.nodes),
        "live": orphan.live,
        "ending": orphan.ending,
        "holds_task": orphan.holds_task,
    }


def _of_row(row: Mapping[str, Any]) -> Orphan:
    return Orphan(
        run_id=RunId(row["run"]),
        origin=Origin.parse(row["origin"]),
        user=row["user"],
        nodes=tuple(row["nodes"]),
        live=row["live"],
        ending=row["ending"],
        holds_task=row["holds_task"],
    )
