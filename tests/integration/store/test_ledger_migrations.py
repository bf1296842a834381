"""Migrations of the ledger; on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.core.ledger.asking import By, LedgerQuestion
from hai_scheduler.core.ledger.development import DevelopmentContainer, container_facts, container_rows
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.scheduling.ledger_keeping import IMPORT, LedgerKeeping
from hai_scheduler.store.migrate import downgrade, upgrade
from hai_scheduler.store.store import open_store
from kit.builders import a_run, a_task, at
from kit.first_state import a_first_state
from kit.ledger import all_time, rows_for
from kit.memory.clock import VirtualClock


async def test_runs_from_before_the_ledger_are_brought_in(url: str, engine: AsyncEngine) -> None:
    await a_first_state(engine)
    store = await open_store(url)
    clock = VirtualClock()
    keeping = LedgerKeeping(store=store, clock=clock)
    for looked in (1, 0):
        bringing = asyncio.create_task(keeping.bring_in())
        while not bringing.done():
            await asyncio.sleep(0)
            await clock.advance(1)
        assert bringing.result() == looked
    async with store.read() as tx:
        rows = await tx.ledger.of_runs([RunId("1.1")])
        (line,) = await tx.ledger.sums(all_time(rows[RunId("1.1")], by=(By.USER,)))
    await store.close()
    assert line.values == ("alice",)
    assert (line.sums.starts, line.sums.interruptions, line.sums.wait_us) == (1, 1, 1_000_000)
    # Two nodes for 5.000001 s. It is not known when the ranks were up.
    assert (line.sums.node_us, line.sums.starting_us) == (10_000_002, 10_000_002)
    await downgrade(engine, "0012")
    await (await open_store(url)).close()


async def test_reports_of_an_earlier_version_say_the_same_afterwards(url: str, engine: AsyncEngine) -> None:
    """Sums of all users together, and finer histograms, are made of what is there."""
    store = await open_store(url)
    runs = [
        rows_for(
            a_run(number, started_at=at(hours=17 * number), ended_at=at(hours=17 * number + 9)),
            task=a_task(number, user=f"u{number % 3}", waiting_since=at(hours=17 * number - number / 7)),
            groups={"nlp", f"g{number % 2}"},
        )
        for number in range(1, 60)
    ]
    gone = DevelopmentContainer(
        id="12345678",
        user="ann",
        groups=(),
        node_group="jupyter",
        gpus=1,
        millicores=1000,
        started_at=at(),
        seen_at=at(),
    )
    async with store.write() as tx:
        await tx.ledger.put({rows[0].facts.run_id: rows for rows in runs})

    def questions() -> list[LedgerQuestion]:
        whole = all_time([row for rows in runs for row in rows])
        groupings = ((), (By.USER,), (By.GROUP, By.DAY), (By.NODE_GROUP, By.MONTH), (By.USER, By.HOUR))
        return [replace(whole, by=by) for by in groupings]

    async def answers() -> list[object]:
        async with store.read() as tx:
            return [await tx.ledger.sums(question) for question in questions()]

    before = await answers()
    async with store.write() as tx:
        rows = container_rows(container_facts(gone), gone, until=at(hours=5))
        await tx.ledger.put({gone.run_id: rows})
    await store.close()
    await downgrade(engine, "0018")
    await upgrade(engine)
    store = await open_store(url)
    assert await answers() == before, "and the earlier version has no development containers"
    async with store.write() as tx:
        await tx.ledger.recompute(at(hours=-8), at(hours=24 * 60))
    assert await answers() == before
    await store.close()


async def test_a_new_database_has_nothing_to_bring_in(url: str) -> None:
    store = await open_store(url)
    async with store.read() as tx:
        assert await tx.settings.get(IMPORT) is None
    await store.close()
