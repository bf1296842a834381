"""Fills the ledger of new databases with many runs at once: rows and sums are those that the service would write.

By transactions, as they come, a million runs would take half an hour. Here each day of a month is added up in memory
and written in bulk, and the databases copy the month eleven times: only the begins differ.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import product
from math import ceil
from typing import Any, Final

from sqlalchemy import Table, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from hai_scheduler.core.ledger.cutting import rows_of
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.row import LedgerFacts, LedgerKey, LedgerRow
from hai_scheduler.core.ledger.slowdown import MILLIONTHS
from hai_scheduler.core.ledger.sums import MEASURES, Sums, by_period
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, Run
from hai_scheduler.store.codec import to_instant
from hai_scheduler.store.histograms import packed
from hai_scheduler.store.ledger_rows import ledger_values
from hai_scheduler.store.ledger_sums import ALL_USERS, SumReach, differences
from hai_scheduler.store.ledger_tables import LEDGER, LEDGER_HISTOGRAMS, LEDGER_KEYS, LEDGER_SUMS
from hai_scheduler.store.store import SqlStore

USERS, GROUPS = 200, 20
#: The months, and the days of each with runs: every month has that number.
MONTHS, DAYS = 12, 28
BEGIN: Final = datetime(2025, 11, 1, tzinfo=UTC)
#: The longest run: the last one of a month must not reach into the next.
_LONGEST_S: Final = 12 * 3600.0
_ENDS: Final = (Reason.SUCCEEDED, Reason.SUCCEEDED, Reason.FAILED, Reason.TURN_OVER, Reason.PREEMPTED)
_PRIORITIES: Final = (Priority.LOW, Priority.NORMAL, Priority.NORMAL, Priority.HIGH)
_NODE_GROUPS: Final = ("training", "a100")

_ReachKey = tuple[SumReach, LedgerKey]
#: Rows of a table, as values by column.
Values = Sequence[Mapping[str, Any]]


async def fill(stores: Sequence[SqlStore], runs: int) -> None:
    """Write runs of a year into the empty ledgers of these stores."""
    ids = {key: number for number, key in enumerate(_keys(), 1)}
    keys = [
        {
            "id": number,
            "user_name": key.user,
            "groups": list(key.groups),
            "group_name": key.node_group,
            "priority": key.priority.value,
            "kind": key.kind.value,
        }
        for key, number in ids.items()
    ]
    async with AsyncExitStack() as opened:
        # One transaction each: hundreds of them would wait for the disk.
        connections = [await opened.enter_async_context(store.engine.begin()) for store in stores]
        for connection in connections:
            await connection.execute(insert(LEDGER_KEYS), keys)
        await _write_all(connections, ceil(runs / MONTHS), ids)
        begins = [BEGIN.replace(year=BEGIN.year + at // 12, month=at % 12 + 1) for at in range(10, 10 + MONTHS)]
        for connection in connections:
            for number, begin in enumerate(begins[1:], 1):
                await _copy(connection, number, to_instant(begin) - to_instant(BEGIN))
    for store in stores:
        if store.engine.dialect.name == "postgresql":
            # As autovacuum does within a minute: plans follow from what is known of the tables.
            async with store.engine.connect() as connection:
                await (await connection.execution_options(isolation_level="AUTOCOMMIT")).exec_driver_sql("ANALYZE")


async def _copy(connection: AsyncConnection, number: int, later: int) -> None:
    """Copy the first month; `later` is the distance in microseconds."""
    first = to_instant(BEGIN + timedelta(days=DAYS))
    for table in (LEDGER, LEDGER_SUMS, LEDGER_HISTOGRAMS):
        begins = table.c.started_at if table is LEDGER else table.c.since
        moved: dict[str, Any] = {
            name: table.c[name] + later for name in ("started_at", "ended_at", "since") if name in table.c
        }
        if table is LEDGER:
            moved["run_id"] = table.c.run_id + f".{number}"
        columns = [moved.get(column.name, column) for column in table.columns]
        copied = select(*columns).where(begins < first)
        await connection.execute(insert(table).from_select([column.name for column in table.columns], copied))


async def _write_all(connections: Sequence[AsyncConnection], runs: int, ids: Mapping[LedgerKey, int]) -> None:
    months: dict[_ReachKey, dict[datetime, Sums]] = {}
    for rows in _days(runs):
        shares = differences((), rows)
        days = {key: by_period(hours, Period.DAY) for key, hours in shares.items()}
        for key, found in days.items():
            parts = months.setdefault(key, {})
            for begin, sums in by_period(found, Period.MONTH).items():
                parts[begin] = parts.get(begin, Sums()) + sums
        await _write(connections, LEDGER, [ledger_values(row, ids[row.facts.key]) for row in rows])
        await _write_sums(connections, Period.HOUR, shares, ids)
        await _write_sums(connections, Period.DAY, days, ids)
    await _write_sums(connections, Period.MONTH, months, ids)


def _keys() -> Iterator[LedgerKey]:
    users = [(f"user-{user}", (f"group-{user % GROUPS}",)) for user in range(USERS)]
    users += [(ALL_USERS, (f"group-{group}",)) for group in range(GROUPS)]
    users.append((ALL_USERS, ()))
    for (user, groups), node_group, priority in product(users, _NODE_GROUPS, sorted(set(_PRIORITIES))):
        yield LedgerKey(user=user, groups=groups, node_group=node_group, priority=priority, kind=WorkKind.TASK)


def _days(runs: int) -> Iterator[list[LedgerRow]]:
    """Yield the rows of each day: what begins and what goes on."""
    choose = random.Random(1)
    rows: defaultdict[datetime, list[LedgerRow]] = defaultdict(list)
    for number in range(1, runs + 1):
        # In the order of time, as they come.
        began = BEGIN + (timedelta(days=DAYS) - timedelta(seconds=_LONGEST_S)) * (number / (runs + 1))
        today = begin_of(Period.DAY, began)
        for day in sorted(day for day in rows if day < today):
            yield rows.pop(day)
        for row in _rows(choose, number, began):
            rows[begin_of(Period.DAY, row.started_at)].append(row)
    for day in sorted(rows):
        yield rows[day]


def _rows(choose: random.Random, number: int, began: datetime) -> tuple[LedgerRow, ...]:
    user, nodes = choose.randrange(USERS), choose.choice((1, 1, 1, 2, 4, 8))
    run_id = RunId(f"{number}.1")
    key = LedgerKey(
        user=f"user-{user}",
        groups=(f"group-{user % GROUPS}",),
        node_group=choose.choice(_NODE_GROUPS),
        priority=choose.choice(_PRIORITIES),
        kind=WorkKind.TASK,
    )
    wait, length = choose.expovariate(1 / 600), min(_LONGEST_S, 60 + choose.expovariate(1 / 3000))
    facts = LedgerFacts(
        run_id=run_id,
        task_id=TaskId(number),
        number=1,
        key=key,
        nodes=nodes,
        gpus=8 * nodes,
        wait=timedelta(seconds=wait),
    )
    ended = began + timedelta(seconds=length)
    run = Run(
        id=run_id,
        number=1,
        ranks=tuple(Rank(rank=rank, node=f"n{rank}") for rank in range(nodes)),
        priority=key.priority,
        started_at=began,
        running_at=began + timedelta(seconds=10),
        ended_at=ended,
        reason=choose.choice(_ENDS),
    )
    by_itself = run.reason in (Reason.SUCCEEDED, Reason.FAILED)
    return rows_of(facts, run, ended, slowdown=round((wait + length) / length * MILLIONTHS) if by_itself else None)


async def _write_sums(
    connections: Sequence[AsyncConnection],
    period: Period,
    shares: Mapping[_ReachKey, Mapping[datetime, Sums]],
    ids: Mapping[LedgerKey, int],
) -> None:
    numbers, histograms = [], []
    for (reach, key), found in shares.items():
        number = reach.number(period)
        for begin, sums in found.items():
            place = {"period": number, "since": to_instant(begin), "key_id": ids[key]}
            numbers.append(place | {name: getattr(sums, name) for name in MEASURES})
            if sums.waits or sums.slowdowns:
                histograms.append(place | {"waits": packed(sums.waits), "slowdowns": packed(sums.slowdowns)})
    await _write(connections, LEDGER_SUMS, numbers)
    await _write(connections, LEDGER_HISTOGRAMS, histograms)


async def _write(connections: Sequence[AsyncConnection], table: Table, values: Values) -> None:
    if not values:
        return
    names = list(values[0])
    for connection in connections:
        if connection.dialect.name == "sqlite":
            await connection.execute(insert(table), values)
            continue
        driver: Any = (await connection.get_raw_connection()).driver_connection
        copying = f"COPY {table.name} ({', '.join(names)}) FROM STDIN"
        async with driver.cursor() as cursor, cursor.copy(copying) as copy:
            for each in values:
                await copy.write_row([each[name] for name in names])
