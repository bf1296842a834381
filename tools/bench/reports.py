"""How long reports take over a million runs, on SQLite and PostgreSQL: `python -m bench reports`."""

from __future__ import annotations

import asyncio
import tempfile
import time
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from bench.figures import Report, say
from bench.ledger_fill import BEGIN, fill
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.ledger.asking import By
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.service.accounting.reports import Reports
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, Caller
from hai_scheduler.store.store import SqlStore, open_store
from kit.databases import empty_postgres, postgres_url
from kit.memory.clock import VirtualClock
from kit.worlds import make_world

RUNS: Final = 1_000_000
#: The target of any report, seconds.
AIM_S: Final = 1.0
TIMES: Final = 3
ADMIN: Final = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))
EVERY: Final = (By.USER, By.GROUP, By.PRIORITY, By.NODE_GROUP, By.KIND, By.MONTH, By.DAY)


def measure(report: Report, runs: int = RUNS) -> None:
    """Fill the ledger with runs of a year, and measure every kind of report for an admin."""
    asyncio.run(_measure(report, runs))


async def _measure(report: Report, runs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="hai-reports-") as folder:
        stores = {"SQLite": await open_store(f"sqlite:///{Path(folder) / 'hai.sqlite'}")}
        try:
            url = postgres_url()
        except pytest.skip.Exception as error:
            report.skip("reports on PostgreSQL", str(error))
        else:
            await empty_postgres(url, drop=True)
            stores["PostgreSQL"] = await open_store(url)
        try:
            say(f"{runs:,} runs are written")
            began = time.perf_counter()
            await fill(list(stores.values()), runs)
            topic = f"{runs:,} runs of a year"
            report.add(topic, "written", time.perf_counter() - began, "s", f"in bulk, to {' and '.join(stores)}")
            for name, store in stores.items():
                await _ask(report, f"reports over {runs:,} runs on {name}", store)
        finally:
            for store in stores.values():
                await store.close()


async def _ask(report: Report, topic: str, store: SqlStore) -> None:
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
    end = BEGIN + timedelta(days=360)
    reports = Reports(make_world(store=store, clock=VirtualClock(end)))
    # Not at the begin of a month or a day: hours, days and months are read.
    since, until = BEGIN + timedelta(days=3, hours=5), end - timedelta(hours=7)
    for by in EVERY:
        for only in ({}, {"group": "group-7"}, {"user": "user-7"}):
            seconds, used = [], []
            for _ in range(TIMES):
                at, cpu = time.perf_counter(), time.process_time()
                await reports.use(ADMIN, by=by, since=since, until=until, **only)
                seconds.append(time.perf_counter() - at)
                used.append(time.process_time() - cpu)
            name = ", ".join((f"a year by {by.value}", *(f"one {word}" for word in only)))
            # On a busy machine the time of the processor says more; PostgreSQL's own is not in it.
            note = f"longest of {TIMES}; {max(used):.2f} s of this process's processor time"
            report.add(topic, name, max(seconds), "s", note, at_most=AIM_S)
    at = time.perf_counter()
    await reports.nodes(since=since, until=until)
    report.add(topic, "nodes, a year", time.perf_counter() - at, "s", at_most=AIM_S)
    await _check(reports, store)


async def _check(reports: Reports, store: SqlStore) -> None:
    """Make the sums of a day again as the service does: reports must say the same, else other sums were measured."""
    day = begin_of(Period.DAY, BEGIN + timedelta(days=100))
    asked = {"by": By.USER, "since": day, "until": day + timedelta(days=1)}
    before = await reports.use(ADMIN, **asked)  # type: ignore[arg-type]
    async with store.write() as tx:
        await tx.ledger.recompute(day, day + timedelta(days=1))
    if await reports.use(ADMIN, **asked) != before:  # type: ignore[arg-type]
        raise AssertionError("the sums of a day are others when they are made again from its rows")
