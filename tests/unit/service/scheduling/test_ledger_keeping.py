"""The ledger while the service works: each run is in it once, over kills, restarts, days and steps of the clock."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from hai_scheduler.core.ledger.asking import By, LedgerQuestion
from hai_scheduler.ports.values import TaskFilter
from hai_scheduler.service.scheduling.ledger_keeping import COUNTED
from hai_scheduler.service.shared.errors import HaiError
from kit.builders import T0, a_run, a_spec, a_task, at
from kit.ledger import all_time, check_ledger
from kit.memory.behaviour import Behaviour
from unit.service.ledger_kit import HOUR, HOUR_US, LONG, ask, count, keeping, patiently, rows_of_run
from unit.service.service_world import ADMIN, Service

# -- runs that go on -----------------------------------------------------------------------------------------


async def test_a_live_run_is_counted_each_hour_and_cut_at_midnight() -> None:
    service = await Service(nodes=2).open()
    task = await service.submit("long", "ann", 2, LONG)
    await service.step()
    await service.step(17.5 * 3600)
    assert await count(service) == 1
    assert await count(service) == 0, "this hour is done"
    parts = await rows_of_run(service, f"{task}.1")
    midnight = datetime(2026, 1, 6, tzinfo=UTC)
    assert [(row.started_at, row.ended_at) for row in parts] == [(T0, midnight), (midnight, midnight + HOUR)]
    lines = await ask(service, by=(By.DAY,))
    assert [line.sums.node_us // HOUR_US for line in lines] == [2 * 16, 2]
    service.restart()
    await service.loop.cycle.tick()
    assert await count(service) == 0
    await check_ledger(service.store)


async def test_many_live_runs_are_counted_in_several_transactions() -> None:
    service = await Service(nodes=1).open()
    async with service.store.write() as tx:
        for number in range(1, 121):
            run = a_run(number, started_at=T0)
            await tx.tasks.add(a_task(number, state="running", run=run), a_spec())
    await service.clock.advance(2 * 3600 + 5)
    assert await count(service) == 120
    (line,) = await ask(service)
    assert (line.sums.starts, line.sums.useful_us) == (120, 120 * 2 * HOUR_US)


async def test_a_count_that_was_broken_off_is_done_again_and_counts_nothing_twice() -> None:
    service = await Service(nodes=1).open()
    await service.submit("long", "ann", 1, LONG)
    await service.step()
    await service.step(5 * 3600)
    await count(service)
    before = await ask(service)
    async with service.store.write() as tx:
        await tx.settings.put(COUNTED, None)
    assert await count(service) == 1
    assert await ask(service) == before


async def test_sums_are_made_again_day_by_day() -> None:
    service = await Service(nodes=1).open()
    await service.submit("long", "ann", 1, LONG)
    await service.step()
    await service.step(50 * 3600)
    await count(service)
    before = await ask(service)
    await patiently(service, keeping(service).recompute(T0, at(hours=60)))
    assert await ask(service) == before


# -- any story -----------------------------------------------------------------------------------------------

jobs = st.builds(
    Behaviour,
    work=st.sampled_from([timedelta(seconds=40), timedelta(hours=3), timedelta(hours=40)]),
    exit_code=st.sampled_from([0, 0, 1]),
    saves_in=st.sampled_from([timedelta(0), timedelta(seconds=5), None]),
    saves_every=st.sampled_from([timedelta(seconds=20), timedelta(hours=1)]),
    start_takes=st.sampled_from([timedelta(0), timedelta(seconds=2)]),
    start_error=st.sampled_from([None] * 5 + ["no such image"]),
)
happenings = st.one_of(
    st.tuples(st.just("submit"), st.integers(1, 3), st.sampled_from([None, 3]), jobs),
    st.tuples(st.just("submit"), st.integers(1, 3), st.sampled_from([None, 3]), jobs),
    st.tuples(st.sampled_from(["stop", "suspend", "resume"]), st.integers(1, 5)),
    st.tuples(st.just("time"), st.sampled_from([1, 65, 3000, 9 * 3600])),
    st.tuples(st.just("clock"), st.sampled_from([3600, 20 * 3600])),
    st.tuples(st.sampled_from(["die", "lose", "count"]), st.integers(1, 3)),
)


async def _happens(service: Service, what: tuple[object, ...]) -> None:
    match what:
        case ("submit", int(nodes), gpus, Behaviour() as does):
            await service.submit("task", "ann" if nodes > 1 else "bob", nodes, does, gpus=gpus)
        case (("stop" | "suspend" | "resume") as verb, int(number)):
            await getattr(service.platform.tasks.submissions, str(verb))(ADMIN, str(number))
        case ("time", int(seconds)):
            await service.step(seconds)
        case ("clock", int(seconds)):
            service.clock.put_forward(seconds)
            await service.step()
        case ("lose", int(node)):
            service.cluster.faults.lose_node(f"node-{node}")
        case ("count", _):
            await count(service)
        case _:
            service.restart()
            await service.loop.cycle.tick()


async def _story(wanted: list[tuple[object, ...]], cuts: list[int]) -> None:
    service = await Service(nodes=3).open()
    for what in wanted:
        with suppress(HaiError):  # a refusal is a valid answer
            await _happens(service, what)
    await service.step(2 * 3600)
    await count(service)
    await check_ledger(service.store)
    async with service.store.read() as tx:
        tasks = await tx.tasks.page(TaskFilter(), before=None, limit=1000)
        runs = [run.id for task in tasks for run in await tx.runs.of_task(task.id)]
        everything = [row for rows in (await tx.ledger.of_runs(runs)).values() for row in rows]
        if not everything:
            return
        whole = all_time(everything)
        (line,) = await tx.ledger.sums(whole)
        for by in (By.USER, By.PRIORITY, By.NODE_GROUP, By.KIND, By.HOUR, By.DAY, By.MONTH):
            lines = await tx.ledger.sums(LedgerQuestion(since=whole.since, until=whole.until, by=(by,)))
            assert sum(each.sums.node_us for each in lines) == line.sums.node_us
        edges = [whole.since, *sorted(at(hours=cut) for cut in cuts), whole.until]
        parts = [
            each.sums.node_us
            for since, until in pairwise(edges)
            for each in await tx.ledger.sums(LedgerQuestion(since=since, until=until))
        ]
        assert sum(parts) == line.sums.node_us


@given(st.lists(happenings, min_size=3, max_size=14), st.lists(st.integers(0, 70), max_size=3))
@settings(max_examples=20, deadline=None)
def test_in_any_story_every_run_is_in_the_ledger_once(wanted: list[tuple[object, ...]], cuts: list[int]) -> None:
    asyncio.run(_story(wanted, cuts))
