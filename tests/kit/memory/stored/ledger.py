"""The ledger in a transaction of the memory store: its sums are always made from its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hai_scheduler.core.ledger.asking import LedgerLine, LedgerQuestion, lines_of
from hai_scheduler.core.ledger.periods import cover
from hai_scheduler.core.ledger.row import ERASED, LedgerKey, LedgerRow
from hai_scheduler.core.ledger.sums import Sums, by_hour
from hai_scheduler.core.model.ids import RunId
from kit.memory.draft import MemoryPart


class MemoryLedger(MemoryPart):
    """See `ports.stored.ledger.StoredLedger`."""

    async def of_runs(self, run_ids: Collection[RunId]) -> Mapping[RunId, Sequence[LedgerRow]]:
        """See `StoredLedger.of_runs`."""
        rows = self._draft.seen().ledger
        return {run_id: list(rows[run_id]) for run_id in run_ids if run_id in rows}

    async def put(self, runs: Mapping[RunId, Sequence[LedgerRow]]) -> None:
        """See `StoredLedger.put`."""
        state = self._draft.writable()
        ledger = {**state.ledger, **{run: tuple(rows) for run, rows in runs.items()}}
        self._draft.state = replace(state, ledger={run: rows for run, rows in ledger.items() if rows})

    async def between(
        self, since: datetime, until: datetime, *, after: tuple[datetime, RunId] | None = None, limit: int
    ) -> Sequence[LedgerRow]:
        """See `StoredLedger.between`."""
        rows = [row for row in self._rows() if since <= row.started_at < until]
        rows = [row for row in rows if after is None or (row.started_at, row.facts.run_id) > after]
        return sorted(rows, key=lambda row: (row.started_at, row.facts.run_id))[:limit]

    async def sums(self, question: LedgerQuestion) -> Sequence[LedgerLine]:
        """See `StoredLedger.sums`."""
        list(cover(question.since, question.until))  # full hours
        shares = self._shares(question.since, question.until)
        asked = [(key, hour, sums) for key, hour, sums in shares if question.concerns(key)]
        if not question.waits:
            asked = [(key, hour, replace(sums, waits={}, slowdowns={})) for key, hour, sums in asked]
        if not question.numbers:
            asked = [(key, hour, Sums(waits=sums.waits, slowdowns=sums.slowdowns)) for key, hour, sums in asked]
        return lines_of(question, asked)

    async def recompute(self, since: datetime, until: datetime) -> None:
        """See `StoredLedger.recompute`."""
        list(cover(since, until))
        self._draft.writable()

    async def users(self) -> Collection[str]:
        """See `StoredLedger.users`."""
        return {row.facts.key.user for row in self._rows()}

    async def erase(self, user: str) -> int:
        """See `StoredLedger.erase`."""
        state = self._draft.writable()
        keys = {row.facts.key for row in self._rows() if row.facts.key.user == user}
        ledger = {run: tuple([_without(row, user) for row in rows]) for run, rows in state.ledger.items()}
        self._draft.state = replace(state, ledger=ledger)
        return len(keys)

    def _rows(self) -> Iterator[LedgerRow]:
        for rows in self._draft.seen().ledger.values():
            yield from rows

    def _shares(self, since: datetime, until: datetime) -> Iterator[tuple[LedgerKey, datetime, Sums]]:
        for row in self._rows():
            for hour, share in by_hour(row).items():
                if since <= hour < until:
                    yield row.facts.key, hour, share


def _without(row: LedgerRow, user: str) -> LedgerRow:
    key = row.facts.key
    return row if key.user != user else replace(row, facts=replace(row.facts, key=replace(key, user=ERASED)))
