"""The ledger in a transaction on a database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import bindparam, delete, insert, select, tuple_, update

from hai_scheduler.core.ledger.asking import LedgerLine, LedgerQuestion
from hai_scheduler.core.ledger.periods import Period, Span, cover
from hai_scheduler.core.ledger.row import ERASED, LedgerRow
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.store.codec import to_instant
from hai_scheduler.store.ledger_rows import KEY, ledger_row_of, ledger_values
from hai_scheduler.store.ledger_sums import ALL_USERS, LedgerSums
from hai_scheduler.store.ledger_tables import LEDGER, LEDGER_KEYS
from hai_scheduler.store.small_tables import StoredPart

#: Most ids in one query: SQLite takes some thousands of values in a statement.
_MANY: Final = 500
#: Rows that are read at once when sums are made again.
_PAGE: Final = 2000
_DAY: Final = timedelta(days=1)

_OF_RUNS = (
    select(LEDGER)
    .where(LEDGER.c.run_id.in_(bindparam("runs", expanding=True)))
    .order_by(LEDGER.c.run_id, LEDGER.c.part)
)
_SOME_KEYS = select(LEDGER_KEYS).where(LEDGER_KEYS.c.id.in_(bindparam("ids", expanding=True)))
_ADD = insert(LEDGER)
_REMOVE = delete(LEDGER).where(LEDGER.c.run_id == bindparam("_run"), LEDGER.c.part == bindparam("_part"))

#: Sums over all users have keys of their own, which name nobody.
_USERS: Final = select(LEDGER_KEYS.c.user_name).where(LEDGER_KEYS.c.user_name != ALL_USERS).distinct()


class StoredLedger(StoredPart):
    """What runs took, day by day, and the sums of it by hour, day and month.

    The sums are always those of the rows: who writes a row changes them in the same transaction. Rows have no task
    beside them, and are not deleted with it.
    """

    @property
    def _sums(self) -> LedgerSums:
        return LedgerSums(self._sql)

    async def of_runs(self, run_ids: Collection[RunId]) -> Mapping[RunId, Sequence[LedgerRow]]:
        """The rows of each of those runs, in the order of their parts; runs without rows are left out."""
        found: dict[RunId, list[LedgerRow]] = defaultdict(list)
        asked = sorted(run_ids)
        for begin in range(0, len(asked), _MANY):
            rows = (await self._sql.ask(_OF_RUNS, {"runs": asked[begin : begin + _MANY]})).all()
            for row in await self._rows(rows):
                found[row.facts.run_id].append(row)
        return dict(found)

    async def put(self, runs: Mapping[RunId, Sequence[LedgerRow]]) -> None:
        """Write all rows of those runs: earlier rows of them are replaced, also those that are not there any more.

        To write the same rows again changes nothing.
        """
        known = {row for rows in (await self.of_runs(runs)).values() for row in rows}
        wanted = {row for rows in runs.values() for row in rows}
        old, new = known - wanted, wanted - known
        ids = await self._sums.change(old, new)
        self._sql.change_later(_REMOVE, [{"_run": row.facts.run_id, "_part": row.part} for row in old])
        self._sql.change_later(_ADD, [ledger_values(row, ids[row.facts.key]) for row in new])

    async def between(
        self, since: datetime, until: datetime, *, after: tuple[datetime, RunId] | None = None, limit: int
    ) -> Sequence[LedgerRow]:
        """At most `limit` rows that began from `since` on and before `until`, by their begin and the id of the run.

        Args:
            since: The begin of the time.
            until: Its end.
            after: Begin and run of the last row that is already known.
            limit: How many rows at most.
        """
        began, run = LEDGER.c.started_at, LEDGER.c.run_id
        page = select(LEDGER).where(began >= to_instant(since), began < to_instant(until)).order_by(began, run)
        if after is not None:
            page = page.where(tuple_(began, run) > tuple_(to_instant(after[0]), after[1]))
        return await self._rows((await self._sql.ask(page.limit(limit))).all())

    async def sums(self, question: LedgerQuestion) -> Sequence[LedgerLine]:
        """The sums that are asked for, by the values that they are told apart by; see `lines_of`.

        Raises:
            ValueError: The times of the question are not full hours.
        """
        return await self._sums.ask(question)

    async def recompute(self, since: datetime, until: datetime) -> None:
        """Make the sums of those hours, and of the days and months that they are in, from the rows again.

        Raises:
            ValueError: The times are not full hours.
        """
        if not list(cover(since, until)):
            return
        await self._sums.clear(Span(Period.HOUR, since, until))
        async for rows in self._touching(since, until):
            await self._sums.add_hours(rows, since, until)
        await self._sums.gather(since, until)

    async def users(self) -> Collection[str]:
        """The names of all users that the ledger has something of."""
        return {str(name) for name in (await self._sql.ask(_USERS)).scalars()}

    async def erase(self, user: str) -> int:
        """Give all that the ledger has of a user to `ERASED`. All sums stay.

        Returns:
            How many keys were changed; 0 if there is nothing of the user.
        """
        mine = update(LEDGER_KEYS).where(LEDGER_KEYS.c.user_name == user).values(user_name=ERASED)
        return (await self._sql.change(mine)).rowcount

    async def _rows(self, rows: Sequence[Any]) -> list[LedgerRow]:
        ids, keys = sorted({row.key_id for row in rows}), {}
        for begin in range(0, len(ids), _MANY):
            found = await self._sql.ask(_SOME_KEYS, {"ids": ids[begin : begin + _MANY]})
            keys.update({row.id: KEY.of(row) for row in found})
        return [ledger_row_of(row, keys) for row in rows]

    async def _touching(self, since: datetime, until: datetime) -> AsyncIterator[list[LedgerRow]]:
        """Yield all rows that have a part of the time, in pages. No row is longer than a day."""
        began, run = LEDGER.c.started_at, LEDGER.c.run_id
        first, after = to_instant(since - _DAY), ""
        while True:
            page = select(LEDGER).where(tuple_(began, run) > tuple_(first, after), began < to_instant(until))
            page = page.where(LEDGER.c.ended_at >= to_instant(since)).order_by(began, run).limit(_PAGE)
            rows = (await self._sql.ask(page)).all()
            yield await self._rows(rows)
            if len(rows) < _PAGE:
                return
            first, after = rows[-1].started_at, rows[-1].run_id
