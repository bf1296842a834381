"""Converts rows and sums of the ledger into rows of the database, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Row

from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import LedgerFacts, LedgerKey, LedgerOutcome, LedgerRow
from hai_scheduler.core.ledger.sums import MEASURES, Sums
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.store.rows import of_instant, to_instant

_US = timedelta(microseconds=1)


def key_of(row: Row[Any]) -> LedgerKey:
    """Return the key of a row."""
    return LedgerKey(
        user=row.user_name,
        groups=tuple(row.groups),
        node_group=row.group_name,
        priority=Priority(row.priority),
        kind=WorkKind(row.kind),
    )


def ledger_values(row: LedgerRow, key_id: int) -> dict[str, Any]:
    """Return the row of a row of the ledger."""
    facts = row.facts
    return {
        "run_id": facts.run_id,
        "part": row.part,
        "task_id": facts.task_id,
        "number": facts.number,
        "key_id": key_id,
        "nodes": facts.nodes,
        "gpus": facts.gpus,
        "node_gpus": facts.node_gpus,
        "millicores": facts.millicores,
        "wait": facts.wait // _US,
        "started_at": to_instant(row.started_at),
        "ended_at": to_instant(row.ended_at),
        "starting": row.starting // _US,
        "useful": row.useful // _US,
        "saving": row.saving // _US,
        "lost": row.lost // _US,
        "idle": row.idle // _US,
        "energy_j": row.energy_j,
        "outcome": None if row.outcome is None else row.outcome.value,
        "reason": None if row.reason is None else row.reason.value,
        "last": row.last,
        "short": row.short,
        "slowdown": row.slowdown,
    }


def ledger_row_of(row: Row[Any], keys: Mapping[int, LedgerKey]) -> LedgerRow:
    """Return the row of the ledger of a row; `keys` has its key by id."""
    return LedgerRow(
        facts=LedgerFacts(
            run_id=RunId(row.run_id),
            task_id=TaskId(row.task_id),
            number=row.number,
            key=keys[row.key_id],
            nodes=row.nodes,
            gpus=row.gpus,
            node_gpus=row.node_gpus,
            millicores=row.millicores,
            wait=row.wait * _US,
        ),
        part=row.part,
        started_at=of_instant(row.started_at),
        ended_at=of_instant(row.ended_at),
        starting=row.starting * _US,
        useful=row.useful * _US,
        saving=row.saving * _US,
        lost=row.lost * _US,
        idle=row.idle * _US,
        energy_j=row.energy_j,
        outcome=None if row.outcome is None else LedgerOutcome(row.outcome),
        reason=None if row.reason is None else Reason(row.reason),
        last=row.last,
        short=row.short,
        slowdown=row.slowdown,
    )


def part_of_key(row: Row[Any] | None) -> LedgerKey:
    """Return the key of a row that has a part of a key's columns, `groups` as text; the other fields are empty."""
    values: Mapping[Any, Any] = {} if row is None else row._mapping
    return LedgerKey(
        user=values.get("user_name", ""),
        groups=tuple(json.loads(values.get("groups", "[]"))),
        node_group=values.get("group_name", ""),
        priority=Priority(values.get("priority", Priority.NORMAL)),
        kind=WorkKind(values.get("kind", WorkKind.TASK)),
    )


def sums_of(row: Row[Any]) -> Sums:
    """Return sums from columns, which PostgreSQL gives as decimals."""
    values = row._mapping
    return Sums(**{name: int(values[name]) for name in MEASURES}, waits={}, slowdowns={})
