"""How long reports take over a million runs, on SQLite and PostgreSQL: `python -m bench reports`."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from bench.figures import Report, say
from hai_scheduler.adapters.sql.store import open_store
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.ledger.asking import By
from hai_scheduler.core.ledger.cutting import rows_of
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.row import LedgerFacts, LedgerKey, LedgerRow
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import Rank, Run
from hai_scheduler.ports.store import Store
from hai_scheduler.service.accounting.reports import Reports
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from kit.databases import empty_postgres, postgres_url
from kit.memory.clock import VirtualClock

RUNS: Final = 1_000_000
USERS, GROUPS, DAYS = 200, 20, 365
BATCH: Final = 2_000
BEGIN: Final = datetime(2025, 11, 1, tzinfo=UTC)
#: The target of any report, seconds.
AIM_S: Final = 1.0
TIMES: Final = 3
ADMIN: Final = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))
_ENDS: Final = (Reason.SUCCEEDED, Reason.SUCCEEDED, Reason.FAILED, Reason.TURN_OVER, Reason.PREEMPTED)


def measure(report: Report, runs: int = RUNS) -> None:
    """Fill the ledger with runs of a year, and measure every kind of report for an admin."""
    with tempfile.TemporaryDirectory(prefix="hai-reports-") as folder:
        asyncio.run(_measure(report, "SQLite", f"sqlite:///{Path(folder) / 'hai.sqlite'}", runs))
    try:
        url = postgres_url()
    except pytest.skip.Exception as error:
        report.skip("reports on PostgreSQL", str(error))
        return
    asyncio.run(empty_postgres(url, drop=True))
    asyncio.run(_measure(report, "PostgreSQL", url, runs))


async def _measure(report: Report, name: str, url: str, runs: int) -> None:
    topic = f"reports over {runs:,} runs on {name}"
    store = await open_store(url)
    try:
        say(f"{runs:,} runs are written to {name}")
        began = time.perf_counter()
        await _fill(store, runs)
        report.add(topic, "runs written in a second", runs / (time.perf_counter() - began), "", f"{BATCH} at a time")
        end = BEGIN + timedelta(days=DAYS)
        reports = Reports(store=store, clock=VirtualClock(end))
        # Not at the begin of a month or a day: hours, days and months are read.
        since, until = BEGIN + timedelta(days=3, hours=5), end - timedelta(hours=7)
        for by in (By.USER, By.GROUP, By.PRIORITY, By.NODE_GROUP, By.KIND, By.MONTH, By.DAY):
            seconds = []
            for _ in range(TIMES):
                at = time.perf_counter()
                await reports.use(ADMIN, by=by, since=since, until=until)
                seconds.append(time.perf_counter() - at)
            report.add(topic, f"a year by {by.value}", max(seconds), "s", f"longest of {TIMES}", at_most=AIM_S)
        at = time.perf_counter()
        await reports.nodes(since=since, until=until)
        report.add(topic, "nodes, a year", time.perf_counter() - at, "s", at_most=AIM_S)
    finally:
        await store.close()


async def _fill(store: Store, runs: int) -> None:
    choose = random.Random(1)
    async with store.write() as tx:
        for day in (BEGIN, BEGIN + timedelta(days=100)):
            rate = Rate(
                node_group=None,
                priority=None,
                valid_from=date(day.year, day.month, day.day),
                per_gpu_hour=Decimal("1.20"),
                currency="EUR",
            )
            await tx.rates.put(rate)
    for first in range(1, runs + 1, BATCH):
        rows = {}
        for number in range(first, min(first + BATCH, runs + 1)):
            # In the order of time, as they come.
            began = BEGIN + timedelta(days=DAYS) * (number / (runs + 1))
            found = _rows(choose, number, began)
            rows[found[0].facts.run_id] = found
        async with store.write() as tx:
            await tx.ledger.put(rows)


def _rows(choose: random.Random, number: int, began: datetime) -> tuple[LedgerRow, ...]:
    user, nodes = choose.randrange(USERS), choose.choice((1, 1, 1, 2, 4, 8))
    run_id = RunId(f"{number}.1")
    key = LedgerKey(
        user=f"user-{user}",
        groups=(f"group-{user % GROUPS}",),
        node_group=choose.choice(("training", "a100")),
        priority=choose.choice((Priority.LOW, Priority.NORMAL, Priority.NORMAL, Priority.HIGH)),
        kind=WorkKind.TASK,
    )
    facts = LedgerFacts(
        run_id=run_id,
        task_id=TaskId(number),
        number=1,
        key=key,
        nodes=nodes,
        gpus=8 * nodes,
        wait=timedelta(seconds=choose.expovariate(1 / 600)),
    )
    length = timedelta(seconds=60 + choose.expovariate(1 / 3000))
    run = Run(
        id=run_id,
        number=1,
        ranks=tuple(Rank(rank=rank, node=f"n{rank}") for rank in range(nodes)),
        priority=key.priority,
        started_at=began,
        running_at=began + timedelta(seconds=10),
        ended_at=began + length,
        reason=choose.choice(_ENDS),
    )
    return rows_of(facts, run, began + length)
