"""Converts rows and sums of the ledger into rows of the database, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Row

from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import LedgerFacts, LedgerKey, LedgerRow
from hai_scheduler.core.ledger.sums import MEASURES, Sums
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.store.codec import RowCodec
from hai_scheduler.store.ledger_tables import LEDGER, LEDGER_KEYS

KEY: Final = RowCodec(LedgerKey, LEDGER_KEYS, user="user_name", node_group="group_name")
_FACTS: Final = RowCodec(LedgerFacts, LEDGER, given=("key",))
_ROW: Final = RowCodec(LedgerRow, LEDGER, given=("facts",))


def ledger_values(row: LedgerRow, key_id: int) -> dict[str, Any]:
    """Return the row of a row of the ledger."""
    return _FACTS.values(row.facts) | _ROW.values(row, key_id=key_id)


def ledger_row_of(row: Row[Any], keys: Mapping[int, LedgerKey]) -> LedgerRow:
    """Return the row of the ledger of a row; `keys` has its key by id."""
    return _ROW.of(row, facts=_FACTS.of(row, key=keys[row.key_id]))


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
