"""The ledger in a transaction on a database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Executable,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from hai_scheduler.adapters.sql.ledger_rows import (
    key_of,
    key_values,
    ledger_row_of,
    ledger_values,
    part_of_key,
    sums_of,
)
from hai_scheduler.adapters.sql.rows import of_instant, to_instant
from hai_scheduler.adapters.sql.statements import Statements
from hai_scheduler.adapters.sql.tables import LEDGER, LEDGER_KEYS, LEDGER_SUMS, LEDGER_WAITS
from hai_scheduler.core.ledger.asking import By, LedgerLine, LedgerQuestion, lines_of
from hai_scheduler.core.ledger.periods import Period, Span, begin_of, cover, end_of
from hai_scheduler.core.ledger.row import ERASED, LedgerKey, LedgerRow
from hai_scheduler.core.ledger.sums import MEASURES, Sums, by_hour, by_period
from hai_scheduler.core.model.ids import RunId

#: Most ids in one query: SQLite takes some thousands of values in a statement.
_MANY: Final = 500
#: Rows that are read at once when sums are made again.
_PAGE: Final = 2000
_DAY: Final = timedelta(days=1)
_US: Final = timedelta(microseconds=1)

_OF_RUNS = (
    select(LEDGER)
    .where(LEDGER.c.run_id.in_(bindparam("runs", expanding=True)))
    .order_by(LEDGER.c.run_id, LEDGER.c.part)
    .order_by(LEDGER.c.run_id, LEDGER.c.part)
)
_KEYS_OF_USERS = select(LEDGER_KEYS).where(LEDGER_KEYS.c.user_name.in_(bindparam("users", expanding=True)))
_SOME_KEYS = select(LEDGER_KEYS).where(LEDGER_KEYS.c.id.in_(bindparam("ids", expanding=True)))
_ALL_KEYS = select(LEDGER_KEYS)
_ADD_KEY, _ADD = insert(LEDGER_KEYS), insert(LEDGER)
_REMOVE = delete(LEDGER).where(LEDGER.c.run_id == bindparam("_run"), LEDGER.c.part == bindparam("_part"))
_TOTALS = [func.sum(LEDGER_SUMS.c[name]).label(name) for name in MEASURES]

#: By what of a key sums are told apart in the database. PostgreSQL cannot compare JSON.
_KEY_COLUMNS: Final[dict[By, ColumnElement[Any]]] = {
    By.USER: LEDGER_KEYS.c.user_name,
    By.GROUP: cast(LEDGER_KEYS.c.groups, Text).label("groups"),
    By.NODE_GROUP: LEDGER_KEYS.c.group_name,
    By.PRIORITY: LEDGER_KEYS.c.priority,
    By.KIND: LEDGER_KEYS.c.kind,
}

#: Sums of a key, or of the parts of keys that are told apart, in a period that begins then.
Found = tuple[LedgerKey, datetime, Sums]
#: Sums of one key, by the begin of a period.
_Shares = dict[datetime, Sums]

_USERS: Final = select(LEDGER_KEYS.c.user_name).distinct()


class SqlLedger:
    """See `ports.stored.ledger.StoredLedger`. Sums are added to in the database, so that nothing of them is read."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def of_runs(self, run_ids: Collection[RunId]) -> Mapping[RunId, Sequence[LedgerRow]]:
        """See `StoredLedger.of_runs`."""
        found: dict[RunId, list[LedgerRow]] = defaultdict(list)
        asked = sorted(run_ids)
        for begin in range(0, len(asked), _MANY):
            rows = (await self._sql.ask(_OF_RUNS, {"runs": asked[begin : begin + _MANY]})).all()
            for row in await self._rows(rows):
                found[row.facts.run_id].append(row)
        return dict(found)

    async def put(self, runs: Mapping[RunId, Sequence[LedgerRow]]) -> None:
        """See `StoredLedger.put`."""
        known = {row for rows in (await self.of_runs(runs)).values() for row in rows}
        wanted = {row for rows in runs.values() for row in rows}
        old, new = known - wanted, wanted - known
        ids = await self._ids({row.facts.key for row in old | new})
        self._sql.change_later(_REMOVE, [{"_run": row.facts.run_id, "_part": row.part} for row in old])
        self._sql.change_later(_ADD, [ledger_values(row, ids[row.facts.key]) for row in new])
        for key, hours in _differences(old, new).items():
            self._add(ids[key], hours)

    async def between(
        self, since: datetime, until: datetime, *, after: tuple[datetime, RunId] | None = None, limit: int
    ) -> Sequence[LedgerRow]:
        """See `StoredLedger.between`."""
        began, run = LEDGER.c.started_at, LEDGER.c.run_id
        page = select(LEDGER).where(began >= to_instant(since), began < to_instant(until)).order_by(began, run)
        if after is not None:
            page = page.where(tuple_(began, run) > tuple_(to_instant(after[0]), after[1]))
        return await self._rows((await self._sql.ask(page.limit(limit))).all())

    async def sums(self, question: LedgerQuestion) -> Sequence[LedgerLine]:
        """See `StoredLedger.sums`."""
        spans = list(cover(question.since, question.until, longest=question.period or Period.MONTH))
        if question.everybody:
            return lines_of(question, [found for span in spans for found in await self._sums(span, question)])
        keys = [row.id for row in await self._sql.ask(_ALL_KEYS) if question.concerns(key_of(row))]
        found: list[Found] = []
        for begin in range(0, len(keys), _MANY):
            for span in spans:
                found += await self._sums(span, question, keys[begin : begin + _MANY])
        return lines_of(question, found)

    async def recompute(self, since: datetime, until: datetime) -> None:
        """See `StoredLedger.recompute`."""
        if not list(cover(since, until)):
            return
        await self._clear(Span(Period.HOUR, since, until))
        async for rows in self._touching(since, until):
            ids = await self._ids({row.facts.key for row in rows})
            for key, hours in _differences((), rows).items():
                inside = {hour: share for hour, share in hours.items() if since <= hour < until}
                self._add(ids[key], inside, only=Period.HOUR)
        for period in (Period.DAY, Period.MONTH):
            begin, end = begin_of(period, since), end_of(period, until - _US)
            await self._clear(Span(period, begin, end))
            while begin < end:
                await self._gather(Span(period, begin, end_of(period, begin)))
                begin = end_of(period, begin)

    async def users(self) -> Collection[str]:
        """See `StoredLedger.users`."""
        return {str(name) for name in (await self._sql.ask(_USERS)).scalars()}

    async def erase(self, user: str) -> int:
        """See `StoredLedger.erase`."""
        mine = update(LEDGER_KEYS).where(LEDGER_KEYS.c.user_name == user).values(user_name=ERASED)
        return (await self._sql.change(mine)).rowcount

    async def _rows(self, rows: Sequence[Any]) -> list[LedgerRow]:
        ids, keys = sorted({row.key_id for row in rows}), {}
        for begin in range(0, len(ids), _MANY):
            found = await self._sql.ask(_SOME_KEYS, {"ids": ids[begin : begin + _MANY]})
            keys.update({row.id: key_of(row) for row in found})
        return [ledger_row_of(row, keys) for row in rows]

    async def _ids(self, keys: Collection[LedgerKey]) -> dict[LedgerKey, int]:
        """Return the ids of those keys; new ones are written."""
        users, ids = sorted({key.user for key in keys}), {}
        for begin in range(0, len(users), _MANY):
            found = await self._sql.ask(_KEYS_OF_USERS, {"users": users[begin : begin + _MANY]})
            ids.update({key_of(row): int(row.id) for row in found})
        for key in keys:
            if key not in ids:
                ids[key] = int((await self._sql.change(_ADD_KEY, key_values(key))).inserted_primary_key[0])  # type: ignore[index]
        return ids

    def _add(self, key_id: int, hours: _Shares, *, only: Period | None = None) -> None:
        """Add to the sums of a key what hours have more than before; and to those of their days and months."""
        days = by_period(hours, Period.DAY)
        all_periods = {Period.HOUR: hours, Period.DAY: days, Period.MONTH: by_period(days, Period.MONTH)}
        sums, waits = [], []
        for period, shares in all_periods.items():
            for begin, share in shares.items() if only in (None, period) else ():
                if share.nothing:
                    continue
                at = {"period": period.value, "since": to_instant(begin), "key_id": key_id}
                sums.append(at | {name: getattr(share, name) for name in MEASURES})
                waits += [at | {"bucket": bucket, "runs": runs} for bucket, runs in share.waits.items()]
        self._sql.change_later(_adding(LEDGER_SUMS, self._sql.dialect), sums)
        self._sql.change_later(_adding(LEDGER_WAITS, self._sql.dialect), waits)

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

    async def _clear(self, span: Span) -> None:
        for table in (LEDGER_SUMS, LEDGER_WAITS):
            await self._sql.change(delete(table).where(_within(table, span)))

    async def _gather(self, span: Span) -> None:
        """Make the sums of one day or month from those of its hours or days."""
        for table, names in ((LEDGER_SUMS, MEASURES), (LEDGER_WAITS, ("runs",))):
            same = [table.c[name] for name in ("key_id", "bucket") if name in table.c]
            parts = _within(table, span._replace(period=Period(span.period - 1)))
            totals = [cast(func.sum(table.c[name]), BigInteger) for name in names]
            which = [literal(span.period.value), cast(literal(to_instant(span.since)), BigInteger), *same]
            gathered = select(*which, *totals).where(parts).group_by(*same)
            columns = ["period", "since", *(column.name for column in same), *names]
            await self._sql.change(insert(table).from_select(columns, gathered))

    async def _sums(self, span: Span, question: LedgerQuestion, keys: Collection[int] | None = None) -> list[Found]:
        """Return the sums in a span, told apart as far as the question wants it; `keys` None: of all keys."""
        waits: dict[tuple[Any, ...], dict[int, int]] = defaultdict(dict)
        if question.waits:
            runs = func.sum(LEDGER_WAITS.c.runs).label("runs")
            for row in await self._sql.ask(_asked(LEDGER_WAITS, span, question, keys, runs)):
                waits[_place(row)][row.bucket] = int(row.runs)
        sums = []
        for row in await self._sql.ask(_asked(LEDGER_SUMS, span, question, keys, *_TOTALS)):
            if row.starts is not None:  # a sum of no rows
                begin = of_instant(row.since) if question.period is not None else span.since
                sums.append((part_of_key(row), begin, sums_of(row, waits.get(_place(row), {}))))
        return sums


def _asked(
    table: Table, span: Span, question: LedgerQuestion, keys: Collection[int] | None, *totals: ColumnElement[Any]
) -> Select[Any]:
    """Return the query for sums of a table, told apart by no more than what the question wants."""
    by: list[ColumnElement[Any]] = [column for kind, column in _KEY_COLUMNS.items() if kind in question.by]
    found = select(*by, *totals).where(_within(table, span))
    if by:
        found = found.join_from(table, LEDGER_KEYS, LEDGER_KEYS.c.id == table.c.key_id)
    more = [] if question.period is None else [table.c.since]
    more += [table.c.bucket] if table is LEDGER_WAITS else []
    if keys is not None:
        found = found.where(table.c.key_id.in_(keys))
    return found.add_columns(*more).group_by(*by, *more)


def _place(row: Any) -> tuple[Any, ...]:
    """Return what a row of sums has in common with its rows of waits."""
    values = row._mapping
    return tuple([values.get(name) for name in (*(column.name for column in _KEY_COLUMNS.values()), "since")])


def _within(table: Table, span: Span) -> ColumnElement[bool]:
    begin = table.c.since
    return and_(table.c.period == span.period.value, begin >= to_instant(span.since), begin < to_instant(span.until))


def _differences(old: Iterable[LedgerRow], new: Iterable[LedgerRow]) -> dict[LedgerKey, _Shares]:
    """Return what the sums of hours get more by new rows instead of old ones, by key."""
    more: dict[LedgerKey, _Shares] = defaultdict(dict)
    for rows, sign in ((old, -1), (new, 1)):
        for row in rows:
            hours = more[row.facts.key]
            for hour, share in by_hour(row).items():
                known = hours.get(hour, Sums())
                hours[hour] = known + share if sign > 0 else known - share
    return dict(more)


@cache
def _adding(table: Table, dialect: str) -> Executable:
    """Return the statement that adds numbers to a row, or makes the row."""
    added: postgresql.Insert | sqlite.Insert = (
        postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    )
    sums = {column.name: column + added.excluded[column.name] for column in table.columns if not column.primary_key}
    return added.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=sums)
