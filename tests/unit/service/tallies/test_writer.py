"""Counted exactly once over failed ticks, restarts and changes of the leader; and never lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.tallies.families import CLUSTER, NODE_SECONDS, NOTICE, RUNS_ENDED, START, WAIT
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.service.tallies.kept import SETTING, KeptTallies, kept_of
from hai_scheduler.service.tallies.writer import LONGEST_GAP
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service


async def kept(service: Service) -> KeptTallies:
    async with service.store.read() as tx:
        return kept_of(await tx.settings.get(SETTING))


async def seconds(service: Service) -> dict[str, float]:
    """Node seconds by state, as they are kept."""
    found = (await kept(service)).tallies.counters[NODE_SECONDS.name]
    return {state: value for (_, state), value in found.items()}


def number(found: KeptTallies, name: str) -> int:
    return sum(sum(each.counts) for each in found.tallies.histograms.get(name, {}).values())


async def test_runs_are_counted_with_their_waits_starts_and_ends() -> None:
    service = await Service(nodes=2).open()
    await service.submit("one", "ann", nodes=2, does=Behaviour(work=timedelta(seconds=30)))
    await service.submit("two", "bob", nodes=2, does=Behaviour(work=timedelta(seconds=30)))
    for _ in range(20):
        await service.step(10)
    found = await kept(service)
    ended = found.tallies.counters[RUNS_ENDED.name]
    assert ended["training", "succeeded", "true"] == 2
    assert number(found, WAIT.name) == number(found, START.name) == sum(ended.values())
    assert number(found, NOTICE.name) == ended.get(("training", "turn_over", "true"), 0)
    waits = found.tallies.histograms[WAIT.name]["training", "NORMAL"]
    assert waits.total >= 30, "the second one waited for the first"


async def test_all_node_time_is_counted_over_restarts_without_a_gap() -> None:
    service = await Service(nodes=4).open()
    began = service.clock.now()
    await service.submit("one", "ann", nodes=2, does=Behaviour())
    for turn in range(12):
        await service.step(20)
        if turn % 4 == 3:
            service.restart()
    await service.step(20)
    passed = (service.clock.now() - began).total_seconds()
    found = await seconds(service)
    at = (await kept(service)).at
    assert at is not None
    unwritten = (service.clock.now() - at).total_seconds()
    assert sum(found.values()) == pytest.approx(4 * (passed - unwritten))
    assert found["idle"] >= 2 * (passed - unwritten)
    assert found["useful"] > passed, "two nodes, most of the time"


async def test_what_a_failed_tick_has_counted_is_counted_by_the_next_one_once() -> None:
    service = await Service(nodes=1).open()
    await service.submit("one", "ann", does=Behaviour(work=timedelta(seconds=5)))
    commits = service.store.write

    @asynccontextmanager
    async def fails() -> AsyncIterator[Any]:
        async with commits() as tx:
            yield tx
            raise Temporary("the database is away")

    service.store.write = fails  # type: ignore[method-assign]
    for _ in range(3):
        await service.clock.advance(1)
        with pytest.raises(Temporary):
            await service.loop.cycle.tick()
    service.store.write = commits  # type: ignore[method-assign]
    for _ in range(6):
        await service.step(5)
    found = await kept(service)
    assert sum(found.tallies.counters[RUNS_ENDED.name].values()) == 1
    assert number(found, WAIT.name) == 1


@pytest.mark.parametrize(("away", "counted"), [(LONGEST_GAP, True), (LONGEST_GAP + timedelta(seconds=1), False)])
async def test_time_without_a_loop_counts_if_it_was_short(away: timedelta, counted: bool) -> None:
    service = await Service(nodes=2).open()
    await service.step(6)
    before, at = sum((await seconds(service)).values()), (await kept(service)).at
    assert at is not None
    await service.clock.advance(away.total_seconds() - (service.clock.now() - at).total_seconds())
    service.restart()
    await service.loop.cycle.tick()
    began = service.clock.now()
    await service.step(6)
    now = (await kept(service)).at
    assert now is not None
    since = at if counted else began
    assert sum((await seconds(service)).values()) - before == pytest.approx(2 * (now - since).total_seconds())


async def test_timings_of_the_process_are_taken_over_once() -> None:
    service = await Service(nodes=1).open()
    service.loop.cycle.world.timings.tallies.observe(CLUSTER, ("loop", "observe", "ok"), 0.01)
    for _ in range(4):
        await service.step(6)
    assert number(await kept(service), CLUSTER.name) == 1
