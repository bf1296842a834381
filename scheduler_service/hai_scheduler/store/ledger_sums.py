"""The sums of the ledger in a database: written with the rows that they are of, read by reports.

Each sum is kept three times (`SumReach`): of every user; of all users together who were in the same groups; and of all.
A report reads those that know no more than it asks, which are far fewer. Numbers are added to in the database.
Histograms are packed (`store.histograms`): the one writer of a database reads them and writes them again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import IntEnum
from functools import cache
from typing import Any, Final, NamedTuple

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
)
from sqlalchemy.dialects import postgresql, sqlite

from hai_scheduler.core.ledger.asking import By, LedgerLine, LedgerQuestion, lines_of
from hai_scheduler.core.ledger.periods import Period, Span, begin_of, cover, end_of
from hai_scheduler.core.ledger.row import LedgerKey, LedgerRow
from hai_scheduler.core.ledger.sums import HISTOGRAMS, MEASURES, Sums, by_hour, by_period, merged
from hai_scheduler.store.codec import of_instant, to_instant
from hai_scheduler.store.histograms import packed, together
from hai_scheduler.store.ledger_rows import KEY, part_of_key, sums_of
from hai_scheduler.store.ledger_tables import LEDGER_HISTOGRAMS, LEDGER_KEYS, LEDGER_SUMS
from hai_scheduler.store.statements import Statements

#: The name of all users together in keys. The Hub gives nobody an empty name.
ALL_USERS: Final = ""
#: Most values in one query: SQLite takes some thousands in a statement.
_MANY: Final = 500
_US: Final = timedelta(microseconds=1)
_ADD_KEY = insert(LEDGER_KEYS)
_KEYS_LIKE = select(LEDGER_KEYS).where(
    *(
        LEDGER_KEYS.c[name].in_(bindparam(f"{name}s", expanding=True))
        for name in ("user_name", "group_name", "priority", "kind")
    )
)
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


class SumReach(IntEnum):
    """Whose sums they are. Each reach has numbers of periods of its own, so that its sums lie side by side."""

    #: Those of each user.
    USER = 0
    #: Those of all users together who were in the same groups.
    GROUPS = 1
    #: Those of all users together.
    ALL = 2

    def key(self, key: LedgerKey) -> LedgerKey:
        """Return what these sums know of a key."""
        if self is SumReach.USER:
            return key
        return replace(key, user=ALL_USERS, groups=key.groups if self is SumReach.GROUPS else ())

    def number(self, period: Period) -> int:
        """Return the number of a period in the database."""
        return period.value + len(Period) * self.value


class _Place(NamedTuple):
    """The primary key of a sum."""

    period: int
    since: int
    key_id: int


class LedgerSums:
    """The sums in a transaction."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def ids(self, keys: Collection[LedgerKey]) -> dict[LedgerKey, int]:
        """Return the ids of those keys; new ones are written."""
        users, ids = sorted({key.user for key in keys}), dict[LedgerKey, int]()
        alike = {
            "group_names": sorted({key.node_group for key in keys}),
            "prioritys": sorted({key.priority.value for key in keys}),
            "kinds": sorted({key.kind.value for key in keys}),
        }
        for begin in range(0, len(users), _MANY):
            found = await self._sql.ask(_KEYS_LIKE, {"user_names": users[begin : begin + _MANY], **alike})
            ids.update({KEY.of(row): int(row.id) for row in found})
        for key in keys:
            if key not in ids:
                values = {
                    "user_name": key.user,
                    "groups": list(key.groups),
                    "group_name": key.node_group,
                    "priority": key.priority.value,
                    "kind": key.kind.value,
                }
                ids[key] = int((await self._sql.change(_ADD_KEY, values)).inserted_primary_key[0])  # type: ignore[index]
        return ids

    async def change(self, old: Iterable[LedgerRow], new: Iterable[LedgerRow]) -> dict[LedgerKey, int]:
        """Change the sums by new rows instead of old ones; returns the ids of all their keys."""
        more = differences(old, new)
        ids = await self.ids({key for _, key in more})
        await self._add(more, ids)
        return ids

    async def ask(self, question: LedgerQuestion) -> list[LedgerLine]:
        """The sums that are asked for, by the values that they are told apart by; see `lines_of`.

        Raises:
            ValueError: The times of the question are not full hours.
        """
        spans = list(cover(question.since, question.until, longest=question.period or Period.MONTH))
        reach = _reach_of(question)
        keys = {} if question.everybody and not question.waits else await self._keys(reach, question)
        ids = sorted(keys)
        chunks = [None] if question.everybody else [ids[at : at + _MANY] for at in range(0, len(ids), _MANY)]
        found: list[Found] = []
        for span in spans:
            for chunk in chunks:
                if question.numbers:
                    found += await self._numbers(span, question, chunk, reach=reach)
                if question.waits:
                    found += await self._histograms(span, question, chunk, keys, reach=reach)
        return lines_of(question, found)

    async def clear(self, span: Span) -> None:
        """Remove the sums of the span."""
        for table in (LEDGER_SUMS, LEDGER_HISTOGRAMS):
            for reach in SumReach:
                await self._sql.change(delete(table).where(_within(table, span, reach=reach)))

    async def add_hours(self, rows: Iterable[LedgerRow], since: datetime, until: datetime) -> None:
        """Add what those hours have of the rows to the sums of these hours alone."""
        inside = {
            known: {hour: share for hour, share in hours.items() if since <= hour < until}
            for known, hours in differences((), rows).items()
        }
        await self._add(inside, await self.ids({key for _, key in inside}), only=Period.HOUR)

    async def gather(self, since: datetime, until: datetime) -> None:
        """Make the sums of the days and months that have some of the time from those of their hours."""
        for period in (Period.DAY, Period.MONTH):
            begin, end = begin_of(period, since), end_of(period, until - _US)
            await self.clear(Span(period, begin, end))
            while begin < end:
                span = Span(period, begin, end_of(period, begin))
                for reach in SumReach:
                    await self._gather_numbers(span, reach=reach)
                    await self._gather_histograms(span, reach=reach)
                begin = span.until

    async def _keys(self, reach: SumReach, question: LedgerQuestion) -> dict[int, LedgerKey]:
        """Return the keys that sums of that reach have, as far as the question concerns them, by id."""
        which = LEDGER_KEYS.c.user_name
        asked = select(LEDGER_KEYS).where(which != ALL_USERS if reach is SumReach.USER else which == ALL_USERS)
        found = {int(row.id): KEY.of(row) for row in await self._sql.ask(asked)}
        return {number: key for number, key in found.items() if key == reach.key(key) and question.concerns(key)}

    async def _add(
        self,
        more: Mapping[tuple[SumReach, LedgerKey], _Shares],
        ids: Mapping[LedgerKey, int],
        *,
        only: Period | None = None,
    ) -> None:
        """Add to the sums of keys what hours have more than before; and to those of their days and months."""
        numbers, histograms = [], dict[_Place, Sums]()
        for (reach, key), hours in more.items():
            days = by_period(hours, Period.DAY)
            all_periods = {Period.HOUR: hours, Period.DAY: days, Period.MONTH: by_period(days, Period.MONTH)}
            for period, shares in all_periods.items():
                for begin, share in shares.items() if only in (None, period) else ():
                    if share.nothing:
                        continue
                    place = _Place(reach.number(period), to_instant(begin), ids[key])
                    numbers.append({**place._asdict(), **{name: getattr(share, name) for name in MEASURES}})
                    if share.waits or share.slowdowns:
                        histograms[place] = share
        self._sql.change_later(_adding(LEDGER_SUMS, self._sql.dialect), numbers)
        await self._add_histograms(histograms)

    async def _add_histograms(self, more: Mapping[_Place, Sums]) -> None:
        columns = [LEDGER_HISTOGRAMS.c[name] for name in _Place._fields]
        places, known = list(more), dict[_Place, Any]()
        for begin in range(0, len(places), _MANY):
            wanted = tuple_(*columns).in_([tuple(place) for place in places[begin : begin + _MANY]])
            for row in await self._sql.ask(select(LEDGER_HISTOGRAMS).where(wanted)):
                known[_Place(row.period, row.since, row.key_id)] = row
        for place, share in more.items():
            stored, values = known.get(place), place._asdict()
            for name in HISTOGRAMS:
                before = {} if stored is None else together([getattr(stored, name)])
                values[name] = packed(merged(before, getattr(share, name)))
            self._sql.put(LEDGER_HISTOGRAMS, values)

    async def _numbers(
        self, span: Span, question: LedgerQuestion, keys: Collection[int] | None, *, reach: SumReach
    ) -> list[Found]:
        """Return the sums in a span, told apart as far as the question wants it; `keys` None: of all keys."""
        sums = []
        for row in await self._sql.ask(_asked(span, question, keys, reach=reach)):
            if row.starts is not None:  # a sum of no rows
                begin = of_instant(row.since) if question.period is not None else span.since
                sums.append((part_of_key(row), begin, sums_of(row)))
        return sums

    async def _histograms(
        self,
        span: Span,
        question: LedgerQuestion,
        keys: Collection[int] | None,
        known: Mapping[int, LedgerKey],
        *,
        reach: SumReach,
    ) -> list[Found]:
        """Return the histograms in a span, told apart as far as the question wants it."""
        table = LEDGER_HISTOGRAMS
        asked = select(table.c.key_id, table.c.since, table.c.waits, table.c.slowdowns)
        asked = asked.where(_within(table, span, reach=reach))
        if keys is not None:
            asked = asked.where(table.c.key_id.in_(keys))
        apart = question.period is not None
        # By number: comparing the keys themselves would take longer than all the rest.
        numbers: dict[LedgerKey, int] = {}
        told = {number: numbers.setdefault(_part(key, question), len(numbers)) for number, key in known.items()}
        waits: defaultdict[tuple[int, int], list[bytes | None]] = defaultdict(list)
        slowdowns: defaultdict[tuple[int, int], list[bytes | None]] = defaultdict(list)
        first = to_instant(span.since)
        rows: Any = await self._sql.ask(asked)
        for key_id, since, waited, slowed in rows:
            place = told[key_id], since if apart else first
            waits[place].append(waited)
            if slowed is not None:
                slowdowns[place].append(slowed)
        keys_of = list(numbers)
        return [
            (
                keys_of[number],
                of_instant(since),
                Sums(waits=together(some), slowdowns=together(slowdowns.get((number, since), ()))),
            )
            for (number, since), some in waits.items()
        ]

    async def _gather_numbers(self, span: Span, *, reach: SumReach) -> None:
        """Make the sums of one day or month from those of its hours or days."""
        table = LEDGER_SUMS
        parts = _within(table, span._replace(period=Period(span.period - 1)), reach=reach)
        totals = [cast(func.sum(table.c[name]), BigInteger) for name in MEASURES]
        which = [literal(reach.number(span.period)), cast(literal(to_instant(span.since)), BigInteger)]
        gathered = select(*which, table.c.key_id, *totals).where(parts).group_by(table.c.key_id)
        await self._sql.change(insert(table).from_select([*_Place._fields, *MEASURES], gathered))

    async def _gather_histograms(self, span: Span, *, reach: SumReach) -> None:
        table = LEDGER_HISTOGRAMS
        parts = _within(table, span._replace(period=Period(span.period - 1)), reach=reach)
        found: defaultdict[int, list[Any]] = defaultdict(list)
        for row in await self._sql.ask(select(table).where(parts)):
            found[row.key_id].append(row)
        at, number = to_instant(span.since), reach.number(span.period)
        for key_id, rows in found.items():
            values = {name: packed(together([getattr(row, name) for row in rows])) for name in HISTOGRAMS}
            self._sql.put(table, {**_Place(number, at, key_id)._asdict(), **values})


def _reach_of(question: LedgerQuestion) -> SumReach:
    """Return the reach of the fewest sums that know all that the question asks."""
    if By.USER in question.by or question.users is not None:
        return SumReach.USER
    return SumReach.GROUPS if By.GROUP in question.by or question.groups is not None else SumReach.ALL


def _part(key: LedgerKey, question: LedgerQuestion) -> LedgerKey:
    """Return what the question tells apart of a key; the rest is alike for all keys."""
    by = question.by
    return LedgerKey(
        user=key.user if By.USER in by else ALL_USERS,
        groups=key.groups if By.GROUP in by else (),
        node_group=key.node_group if By.NODE_GROUP in by else "",
        priority=key.priority if By.PRIORITY in by else _ANY.priority,
        kind=key.kind if By.KIND in by else _ANY.kind,
    )


_ANY: Final = part_of_key(None)


def _asked(span: Span, question: LedgerQuestion, keys: Collection[int] | None, *, reach: SumReach) -> Select[Any]:
    """Return the query for sums, told apart by no more than what the question wants."""
    table = LEDGER_SUMS
    by: list[ColumnElement[Any]] = [column for kind, column in _KEY_COLUMNS.items() if kind in question.by]
    found = select(*by, *_TOTALS).where(_within(table, span, reach=reach))
    if by:
        found = found.join_from(table, LEDGER_KEYS, LEDGER_KEYS.c.id == table.c.key_id)
    more = [] if question.period is None else [table.c.since]
    if keys is not None:
        found = found.where(table.c.key_id.in_(keys))
    return found.add_columns(*more).group_by(*by, *more)


def _within(table: Table, span: Span, *, reach: SumReach) -> ColumnElement[bool]:
    begin, number = table.c.since, reach.number(span.period)
    return and_(table.c.period == number, begin >= to_instant(span.since), begin < to_instant(span.until))


def differences(
    old: Iterable[LedgerRow], new: Iterable[LedgerRow]
) -> dict[tuple[SumReach, LedgerKey], dict[datetime, Sums]]:
    """Return what the sums of hours get more by new rows instead of old ones, by reach and key."""
    more: defaultdict[tuple[SumReach, LedgerKey], _Shares] = defaultdict(dict)
    for rows, sign in ((old, -1), (new, 1)):
        for row in rows:
            for hour, share in by_hour(row).items():
                for reach in SumReach:
                    hours = more[reach, reach.key(row.facts.key)]
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
